"""What C++ sources include, and who may have CUDA in the include graph: a machine without it builds everything else."""

import re

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
GPU = ('shard/gpu/', 'tests/gpu/')
_CUDA = re.compile(r'(?:cuda|cublas|cooperative_groups|curand|nccl|cub/|nv/|thrust/)')


def check_cuda(tree, _):
    """A fault for each file that comes to a header of CUDA or NCCL, by whatever way, and may not."""
    includes = {path: INCLUDE.findall(text) for path, text in tree.with_suffix('.cc', '.h', '.cu')}
    reach = {}  # by file, the include that leads there
    for _ in includes:
        found = {path: included for path, names in includes.items() for included in names
                 if path not in reach and (_CUDA.match(included) or included in reach)}
        if not found:
            break
        reach.update(found)
    for path, included in sorted(reach.items()):
        if not path.startswith(GPU):
            yield f'{path}: "{included}" brings in CUDA; only {" and ".join(GPU)} may have it'
