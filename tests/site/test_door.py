"""The /v1 door as a whole."""


def test_it_tells_who_i_am(api, alice):
    answer = api(alice, "runs:read").get("me")
    assert answer.status == 200, answer.content
    assert answer.json["email"] == "alice@example.org"
    assert answer.headers["X-Token-Scopes"] == "runs:read"
    print(answer.headers)
    for r in (api(None).get("me"), api(alice).get("nope"), api(alice).post("me", {}), api(alice).call("HEAD","me"), api(None).call("OPTIONS","me"), api(alice).get("me?x=1"), api(alice).post("tokens",{}), api(None).call("TRACE","me"), api("bw_test_pat_x").get("me")):
        print(r)
