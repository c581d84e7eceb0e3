"""Which addresses are asked, and by what rules."""

from kg.web import is_safe


def test_only_https_and_this_machine_are_safe() -> None:
    assert is_safe("http://127.0.0.1:80/a")
    assert is_safe("https://tuning.example")
    assert not any(map(is_safe, ("http://10.0.0.1/", "ftp://x/", "file:///etc", "https:///", "//x/")))
    assert not is_safe("https://me:secret@tuning.example/")
