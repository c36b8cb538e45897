#!/usr/bin/env python3
"""The tidy checks on made-up sources: each fault is seen, and the same source without it passes."""

import pathlib
import tempfile
import unittest

import cpp_functions
import tidy

HEADER = '#ifndef ENGRAM_MODEL_A_H_\n#define ENGRAM_MODEL_A_H_\nint A();\n#endif  // ENGRAM_MODEL_A_H_\n'
LOOSE = {'files_over_200_lines': 9, 'functions_over_60_lines': 9, 'largest_file_lines': 450,
         'largest_function_lines': 99}

SOURCE = '''namespace engram {
namespace {
struct Pair { int a; int b; };
constexpr Pair kPairs[] = {{1, 2}, {3, 4}};
const char* kBrace = "{ not a block";  // {
int Digits() { return 1'000'000; }
}  // namespace

Thing::Thing(int a, std::vector<int> b)
    : a_(a), b_{std::move(b)} {
  Start();
}

template <typename T, class U>
absl::StatusOr<std::vector<T>> Make(
    const T& value, int count) {
  auto add = [&](int x) {
    return x + 1;
  };
  if (count > 0) {
    return Fill({value, add(count)});
  }
  return {};
}

class Door {
 public:
  bool is_open() const { return open_; }
  int Count() const override {
    return 2;
  }

 private:
  bool open_ = false;
  std::vector<int> list_ = {1, 2};
};
#define BLOCK(x) { x
TEST(Door, Opens) {
  EXPECT_TRUE(true);
}
}  // namespace engram
'''


def faults_of(files, ratchet=None):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tidy.faults(tidy.Tree(folder), ratchet or LOOSE)


class FunctionsTest(unittest.TestCase):

    def test_sizes_of_functions(self):
        found = [(name, lines) for _, lines, name in cpp_functions.functions(SOURCE)]
        self.assertEqual(found, [('Digits', 1), ('Thing::Thing', 4), ('Make', 11), ('is_open', 1), ('Count', 3),
                                 ('TEST', 3)])

    def test_lines_are_where_the_function_begins(self):
        lines = [line for line, _, _ in cpp_functions.functions(SOURCE)]
        self.assertEqual(lines[:3], [6, 9, 14])

    def test_raw_strings_and_escapes_hide_braces(self):
        source = 'void F() {\n  auto a = R"x(}}} " )x";\n  char b = \'}\';\n  auto c = "\\"}";\n}\nvoid G() {}\n'
        self.assertEqual([(name, lines) for _, lines, name in cpp_functions.functions(source)], [('F', 5), ('G', 1)])


class FaultsTest(unittest.TestCase):

    def assert_fault(self, files, words, ratchet=None):
        found = faults_of(files, ratchet)
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def assert_clean(self, files, ratchet=None):
        self.assertEqual(faults_of(files, ratchet), [])

    def test_clean_header(self):
        self.assert_clean({'model/a.h': HEADER})

    def test_guard(self):
        self.assert_fault({'model/b.h': HEADER}, 'ENGRAM_MODEL_B_H_')
        self.assert_fault({'model/a.h': HEADER.replace('  // ENGRAM_MODEL_A_H_', '')}, 'model/a.h')

    def test_includes(self):
        for path, header in (('model/a.cc', 'shard/engine.h'), ('model/a.cc', 'engram/v1/engram.pb.h'),
                             ('shard/a.cc', 'server/step.h'), ('server/a.cc', 'shard/row_plan.h'),
                             ('server/a.cc', 'client/session.h'), ('client/a.cc', 'server/step.h'),
                             ('client/a.cc', 'shard/engine.h'), ('server/a.cc', 'mpi.h'),
                             ('model/a.cc', 'hwy/highway.h'),
                             ('server/a.cc', 'grpcpp/server.h'), ('shard/a.cc', 'grpcpp/grpcpp.h'),
                             ('server/a.cc', 'engram/v1/engram.grpc.pb.h')):
            with self.subTest(path=path, header=header):
                self.assert_fault({path: f'#include "{header}"\n'}, header)

    def test_includes_that_are_right(self):
        self.assert_clean({
            'model/files/a.cc': '#include "model/a.h"\n#include <vector>\n',
            'model/dequantize_vectors.cc': '#include "hwy/highway.h"\n',
            'shard/a.cc': '#include <mpi.h>\n#include "model/a.h"\n#include "shard/b.h"\n',
            'server/a.cc': '#include "shard/engine.h"\n#include "engram/v1/engram.pb.h"\n',
            'server/grpc/a.cc': '#include <grpcpp/server.h>\n',
            'server/main.cc': '#include <grpcpp/server.h>\n',
            'client/a.cc': '#include "engram/v1/engram.grpc.pb.h"\n#include "model/a.h"\n',
        })

    def test_cuda_stays_in_its_folders(self):
        door = {'shard/gpu/a.h': HEADER.replace('MODEL', 'SHARD_GPU').replace('int A', '#include <nccl.h>\nint A')}
        self.assert_clean({**door, 'shard/gpu/b.cu': '#include "shard/gpu/a.h"\n#include <cuda_runtime_api.h>\n',
                           'tests/gpu/a.cc': '#include "shard/gpu/a.h"\n'})
        self.assert_fault({'shard/a.cc': '#include <cuda_runtime.h>\n'}, 'cuda_runtime.h')
        self.assert_fault({'tests/unit/a.cc': '#include <nccl.h>\n'}, 'nccl.h')
        hall = door['shard/gpu/a.h'].replace('GPU_A_H', 'GPU_B_H').replace('<nccl.h>', '"shard/gpu/a.h"')
        self.assert_fault({**door, 'shard/gpu/b.h': hall, 'shard/a.cc': '#include "shard/gpu/b.h"\n'},
                          'shard/a.cc: "shard/gpu/b.h" brings in CUDA')

    def test_lines(self):
        self.assert_fault({'model/a.cc': 'int a; \n'}, 'white space')
        self.assert_fault({'model/a.cc': '// ' + 'x' * 118 + '\n'}, '121 characters')
        self.assert_clean({'model/a.cc': '// ' + 'x' * 117 + '\n'})
        self.assert_fault({'model/a.cc': 'int a;'}, 'no line break')
        self.assert_fault({'model/a.cc': '// TO' + 'DO: later\n'}, 'unfinished')
        self.assert_clean({'README.md': '| ' + 'x' * 200 + ' |\n'})

    def test_file_sizes(self):
        self.assert_fault({'model/a.cc': 'int a;\n' * 451}, 'no file has more', {**LOOSE, 'largest_file_lines': 999})
        self.assert_fault({'model/a.cc': 'int a;\n' * 201}, 'files_over_200_lines is 1',
                          {**LOOSE, 'files_over_200_lines': 0})
        self.assert_fault({'model/a.cc': 'int a;\n' * 12}, 'largest_file_lines is 12',
                          {**LOOSE, 'largest_file_lines': 11})
        self.assert_clean({'model/a.cc': 'int a;\n' * 200}, {**LOOSE, 'files_over_200_lines': 0})

    def test_function_sizes(self):
        def body(lines):
            return {'model/a.cc': 'void Long() {\n' + '  Work();\n' * (lines - 2) + '}\n'}
        tight = {**LOOSE, 'functions_over_60_lines': 0}
        self.assert_fault(body(61), 'functions_over_60_lines is 1 (model/a.cc:1 Long)', tight)
        self.assert_clean(body(60), tight)
        python = {'tests/a.py': 'def long():\n' + '    work()\n' * 60}
        self.assert_fault(python, 'tests/a.py:1 long', tight)

    def test_ratchet(self):
        self.assert_fault({'model/a.cc': 'int a;\n'}, 'largest_file_lines is missing',
                          {name: value for name, value in LOOSE.items() if name != 'largest_file_lines'})
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, 'README.md').write_text('Hello\n')
            tree = tidy.Tree(folder)
            self.assertEqual(tidy.tighten(tree, LOOSE), dict.fromkeys(LOOSE, 0))
            self.assertEqual(tidy.tighten(tree, dict.fromkeys(LOOSE, -1)), dict.fromkeys(LOOSE, -1))

    def test_docs_show_a_command(self):
        self.assert_fault({'docs/a.md': '# A\n\nOnly words.\n'}, 'docs/a.md')
        self.assert_clean({'docs/a.md': '# A\n\n```sh\nengram info\n```\n'})

    def test_configs_are_tested(self):
        self.assert_fault({'configs/a.txtpb': 'model {}\n', 'tests/b.py': "'b.txtpb'\n"}, 'no test names it')
        self.assert_clean({'configs/a.txtpb': 'model {}\n', 'tests/b.py': "'a.txtpb'\n"})
        self.assert_clean({'configs/a.txtpb': 'model {}\n', 'tests/b.cc': 'directory_iterator(ROOT "/configs")\n'})


if __name__ == '__main__':
    unittest.main()
