// The contract over sockets, between threads that share a mesh, and what sockets alone can be made to do.

#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/contract/collective_contract.h"
#include "tests/gpu/socket_collective.h"

namespace engram {

void RunOnRanks(int ranks, const std::function<void(Collective&)>& body) {
  SocketMesh mesh = SocketMesh::Create(ranks).value();
  // All stay until all are done: who leaves is noticed.
  std::vector<std::unique_ptr<SocketCollective>> collectives;
  for (int rank = 0; rank < ranks; ++rank) {
    collectives.push_back(std::make_unique<SocketCollective>(rank, mesh.Take(rank)));
  }
  std::vector<std::thread> threads;
  for (const auto& collective : collectives) threads.emplace_back([&] { body(*collective); });
  for (std::thread& thread : threads) thread.join();
}

namespace {

INSTANTIATE_TEST_SUITE_P(Socket, CollectiveContract, testing::Values(1, 2, 3, 4, 7));

using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

Deadline Soon() { return DeadlineAfter(absl::Milliseconds(100)); }
Deadline Later() { return DeadlineAfter(absl::Minutes(1)); }

void ExpectStatus(const absl::Status& status, absl::StatusCode code, const char* words) {
  EXPECT_EQ(status.code(), code);
  EXPECT_THAT(std::string(status.message()), HasSubstr(words));
}

class SocketFaults : public testing::Test {
 protected:
  SocketMesh mesh_ = SocketMesh::Create(3).value();
  std::unique_ptr<SocketCollective> first_ = std::make_unique<SocketCollective>(0, mesh_.Take(0));
  std::unique_ptr<SocketCollective> second_ = std::make_unique<SocketCollective>(1, mesh_.Take(1));
  std::unique_ptr<SocketCollective> third_ = std::make_unique<SocketCollective>(2, mesh_.Take(2));
};

TEST_F(SocketFaults, AReceiverNamesWhoIsSilent) {
  Bytes bytes(10);
  const std::vector<absl::Span<std::byte>> parts = {{}, {}, absl::MakeSpan(bytes)};
  ExpectStatus(first_->Gather(0, {}, parts, Soon()), absl::StatusCode::kUnavailable, "no answer in time from rank 2");
}

TEST_F(SocketFaults, ASenderNamesWhoDoesNotRead) {
  const Bytes large(10'000'000);
  ExpectStatus(second_->Gather(0, large, {}, Soon()), absl::StatusCode::kUnavailable,
               "no answer in time to a message to rank 0");
}

TEST_F(SocketFaults, WhoHasLeftIsNamedAtOnce) {
  second_.reset();
  Bytes bytes(10);
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<absl::Span<std::byte>> parts = {{}, absl::MakeSpan(bytes), {}};
  ExpectStatus(first_->Gather(0, {}, parts, Later()), absl::StatusCode::kUnavailable, "rank 1 has left");
  ExpectStatus(third_->Gather(1, bytes, {}, Later()), absl::StatusCode::kUnavailable, "rank 1 has left");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST_F(SocketFaults, WhatWasSaidBeforeLeavingArrives) {
  const Bytes said(5, std::byte{7});
  ASSERT_EQ(second_->Gather(0, said, {}, Later()), absl::OkStatus());
  second_.reset();
  Bytes heard(5);
  const std::vector<absl::Span<std::byte>> parts = {{}, absl::MakeSpan(heard), {}};
  EXPECT_EQ(first_->Gather(0, {}, parts, Later()), absl::OkStatus());
  EXPECT_EQ(heard, said);
}

TEST_F(SocketFaults, AMessageOfAnotherSizeIsRefused) {
  const Bytes said(5);
  ASSERT_EQ(second_->Gather(0, said, {}, Later()), absl::OkStatus());
  Bytes heard(6);
  const std::vector<absl::Span<std::byte>> parts = {{}, absl::MakeSpan(heard), {}};
  ExpectStatus(first_->Gather(0, {}, parts, Later()), absl::StatusCode::kInternal,
               "rank 1 sent 5 bytes, rank 0 expected 6");
}

}  // namespace
}  // namespace engram
