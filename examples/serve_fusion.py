"""
Serving a fusion
================

Fuse the results of several engines for each request, in a small HTTP service.

A hybrid search asks several engines for every query and fuses their lists. The service below loads
a learned fusion once; each request brings the lists of one query as JSON, in the form in which the
engines return them: hits of Elasticsearch, pairs of id and score, or ids alone. An engine that
returned nothing, or did not answer in time, abstains.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

import matplotlib.pyplot as plt
import numpy as np

import crucial
from crucial.fusion import FusionRanker, learn_fusion

# -- Learn from judged queries, and keep the fusion in a file ------------------------
problem = crucial.load_digits_search(n_queries=40, top=30)
engines = problem.feature_names[:3]
lists: dict[str, dict[str, dict[str, float]]] = {name: {} for name in engines}
for column, name in enumerate(engines):
    for row in np.flatnonzero(~np.isnan(problem.X[:, column])).tolist():
        query, doc = str(problem.qid[row]), str(problem.item[row])
        lists[name].setdefault(query, {})[doc] = float(problem.X[row, column])
judged: dict[str, dict[str, int]] = {}
for query, doc, label in zip(problem.qid, problem.item, problem.y):
    judged.setdefault(str(query), {})[str(doc)] = int(label)
path = Path(tempfile.mkdtemp()) / "fuse.json"
learn_fusion(lists, judged, measure="ndcg@10", folds=3).save(path)

# -- The service ---------------------------------------------------------------------
fusion = FusionRanker.load(path)


class Fuse(BaseHTTPRequestHandler):
    """Answers ``POST /`` with the fused documents, best first."""

    def do_POST(self) -> None:
        try:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = {"documents": fusion.rank(request["lists"], depth=request.get("depth", 10))}
            status = 200
        except (KeyError, ValueError) as error:  # every error of crucial about data is a ValueError
            answer, status = {"error": str(error)}, 400
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the example's output to itself."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Fuse)
threading.Thread(target=server.serve_forever, daemon=True).start()


def ask(**request: object) -> dict:
    """Return the service's answer to a request."""
    address = f"http://127.0.0.1:{server.server_port}/"
    with urlopen(Request(address, json.dumps(request).encode()), timeout=10) as answer:
        return json.load(answer)


# -- Requests ------------------------------------------------------------------------
query = next(iter(judged))
first, second, third = (lists[name][query] for name in engines)
hits = [{"_id": doc, "_score": score} for doc, score in first.items()]
full = {engines[0]: {"hits": {"hits": hits}}, engines[1]: list(second.items()), engines[2]: third}
print("all three engines:   ", [doc for doc, _ in ask(lists=full, depth=5)["documents"]])
late = {**full, engines[1]: [], engines[2]: None}
print("two did not answer:  ", [doc for doc, _ in ask(lists=late, depth=5)["documents"]])

# -- The time of the fusion itself ---------------------------------------------------
seconds = []
for _ in range(200):
    began = time.perf_counter()
    fusion.rank(full)
    seconds.append(time.perf_counter() - began)
print(f"{sum(map(len, (first, second, third)))} results fused in "
      f"{1000 * statistics.median(seconds):.2f} ms")  # fmt: skip
server.shutdown()
server.server_close()
same = fusion.fuse({name: {query: lists[name][query]} for name in engines}, depth=None)
print(f"the same as fusing runs: {list(same.to_dict()[query].items()) == fusion.rank(full)}")

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.hist(1000 * np.array(seconds), bins=40, range=(0, 3000 * statistics.median(seconds)))
ax.set(xlabel="ms to fuse the lists of a request", ylabel="requests")
plt.show()
