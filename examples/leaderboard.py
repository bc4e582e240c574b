"""
A leaderboard from comparisons
==============================

Six models answered the same prompts, and judges said which of two answers was better.

Who is best, who is tied, whom the judges agree with, and what the comparisons cannot say. Then
somebody is asked instead, with as few questions as possible.
"""

import matplotlib.pyplot as plt
import numpy as np

from crucial import preferences

random = np.random.default_rng(11)
models = ["alder", "birch", "cedar", "dogwood", "elm", "fir"]
strength = dict(zip(models, [1.2, 1.1, 0.3, 0.0, -0.4, -2.0]))

# 900 judgements of three judges. One of them does not look; one in ten is a tie.
rows = []
for number in range(900):
    a, b = random.choice(models, 2, replace=False)
    judge = ["ann", "bob", "coin"][number % 3]
    p = 0.5 if judge == "coin" else 1 / (1 + np.exp(strength[b] - strength[a]))
    winner, loser = (a, b) if random.random() < p else (b, a)
    rows.append((winner, loser, random.random() < 0.1, judge, f"prompt {number // 3 % 20}"))
# Two more models that were compared with each other only.
rows += [("yew", "zelkova", False, "ann", "prompt 0")] * 3

winner, loser, tie, judge, prompt = zip(*rows)
judged = preferences.Comparisons.from_columns(winner, loser, tie=tie, judge=judge, context=prompt)
board = preferences.leaderboard(judged, independent="context")
print(board.text(80))
print("\nsets of models among which no difference is sure:")
for group in board.groups:
    print("  " + ", ".join(group))

# 1. The ranking with the fewest judgements against it.
consensus = preferences.consensus(judged.take(judged.winner < 6))
print(f"\nconsensus, exact {consensus.exact}: {' > '.join(consensus.items[:6])}")


# 2. Ask one person, who knows the strengths, and see how few questions do.
def answer(session: preferences.PreferenceSession) -> str:
    left, right = (strength[session.names[k]] for k in session.question)
    return "left" if left > right else "right"


session = preferences.PreferenceSession(models[::-1])
while [one.name for one in session.ranking()] != models:
    session.answer(answer(session))
pairs = len(models) * (len(models) - 1) // 2
print(f"\nasked what tells most: the right order after {session.n_answers} of {pairs} pairs")

# 3. The leaderboard as a picture. The last two are on a scale of their own.
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
board.plot(ax)
plt.show()
