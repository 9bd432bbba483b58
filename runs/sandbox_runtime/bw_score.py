"""The score role: output and expected in, a verdict out. What judges runs in children of this process."""

import bw_channel
import bw_user


def run(channel: bw_channel.Channel, start: dict) -> None:
    task = bw_user.load_or_tell(channel, start["code"], lambda task: {})
    while task is not None:
        for message in channel.receive():
            answer = {"cell": message["cell"], "attempt": message["attempt"]}
            try:
                score = task.score(message["index"], message["output"], message["expected"])
                channel.post({"op": "scored", **answer, "score": score, "explanation": None, "metrics": None})
            except BaseException as error:
                fault = {"class": "scorer_exception", "message": f"{type(error).__name__}: {error}"}
                channel.post({"op": "unscored", **answer, "error": fault})
