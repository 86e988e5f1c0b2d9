"""transformers building the same configs on the meta device: median milliseconds a config, imports apart."""
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
begin = time.perf_counter()
import torch  # noqa: E402
import transformers  # noqa: E402

imports_ms = (time.perf_counter() - begin) * 1e3
torch.set_num_threads(1)

times = []
built_paths = []
for folder in sys.argv[1:]:
    for path in sorted(pathlib.Path(folder).glob("*.json"))[:120]:
        try:
            config_json = json.loads(path.read_text())
        except ValueError:
            continue
        name = next(iter(config_json.get("architectures") or []), "")
        built = getattr(transformers, name, None)
        if built is None or not name.endswith("ForCausalLM"):
            continue
        with tempfile.TemporaryDirectory() as home:
            (pathlib.Path(home) / "config.json").write_text(path.read_text())
            try:
                begin = time.perf_counter()
                config = transformers.AutoConfig.from_pretrained(home, trust_remote_code=False)
                with torch.device("meta"):
                    model = built(config)
                total = sum(p.numel() for p in model.parameters())
                times.append((time.perf_counter() - begin) * 1e3)
                built_paths.append(str(path))
                del model, total
            except Exception:
                continue
print(json.dumps({"paths": built_paths, "configs": len(times), "median_ms": statistics.median(times), "imports_ms": imports_ms}))
