"""Who is this project? The name given, else the remote, else the path; never a secret in an id."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memorist.errors import Invalid
from memorist.project import Project, _by_path, _clean, _hosted, repository_root, resolve_project
from memorist.records import Scope

ATLAS = "project/github.com/acme/atlas"


def make_git(folder: Path, *remotes: tuple[str, str], text: str = "") -> Path:
    (folder / ".git").mkdir(parents=True)
    lines = ["[core]", "\tbare = false", text]
    for name, url in remotes:
        lines += [f'[remote "{name}"]', f"\turl = {url}", "\tfetch = +refs/heads/*:refs/remotes/origin/*"]
    (folder / ".git" / "config").write_text("\n".join(lines), encoding="utf-8")
    return folder


def scope_in(folder: Path) -> str:
    return resolve_project(None, folder).scope


# ---------------------------------------------------------------- names


@pytest.mark.covers("W4-1", "W4-9")
@pytest.mark.parametrize("name", ["atlas", "project/atlas", "  atlas ", " project/atlas"])
def test_a_name_always_wins(name: str, tmp_path: Path) -> None:
    repository = make_git(tmp_path / "r", ("origin", "https://github.com/acme/other.git"))
    assert resolve_project(name, repository / ".git") == Project(Scope("project/atlas"), "named", "atlas", repository)
    assert resolve_project(name, None).root is None


def test_a_name_in_either_unicode_form_is_one_project() -> None:
    assert resolve_project("cafe\u0301", None) == resolve_project("caf\u00e9", None)


@pytest.mark.covers("W4-1")
@pytest.mark.parametrize(
    "name", ["", "  ", "project/", "a//b", "../b", "a/..", "*", "a\x00b", "a\u200bb", "x" * 300, 7]
)
def test_a_name_that_would_land_nowhere_is_refused(name: str) -> None:
    with pytest.raises(Invalid):
        resolve_project(name, None)


def test_an_address_as_a_name_is_refused_without_repeating_it() -> None:
    with pytest.raises(Invalid, match="cannot be an address") as caught:
        resolve_project("https://ann:hunter2@github.com/acme/atlas", None)
    assert "hunter2" not in str(caught.value)


def test_without_name_and_directory_it_is_the_default_project() -> None:
    assert resolve_project(None, None) == Project(Scope("project/default"), "default", "default", None)


# ---------------------------------------------------------------- remotes

SPELLINGS = [
    "https://github.com/acme/atlas",
    "https://github.com/acme/atlas.git",
    "https://github.com/acme/atlas.git/",
    "https://github.com/acme/atlas/",
    "https://GitHub.com//acme/./atlas",
    "https://github.com:443/acme/atlas.git",
    "https://ann@github.com/acme/atlas.git",
    "https://ann:hunter2@github.com/acme/atlas.git",
    "https://hunter2:x-oauth-basic@github.com/acme/atlas.git",
    "https://ann%40corp:hunter2@github.com/acme/atlas.git",
    "https://a:hun@ter2@github.com/acme/atlas.git",
    "https://github.com/acme/atlas.git?token=hunter2#hunter2",
    "http://github.com./acme/atlas",
    "git://github.com/acme/atlas.git",
    "ssh://git@github.com/acme/atlas.git",
    "ssh://git@github.com:22/acme/atlas",
    "git+ssh://git@github.com/acme/atlas",
    "hg::https://ann:hunter2@github.com/acme/atlas",
    "git@github.com:acme/atlas.git",
    "git@GITHUB.COM:acme/atlas",
    "github.com:acme/atlas",
    "git@github.com:/acme/atlas.git/",
    "ann:hunter2@github.com:acme/atlas.git",
    "git@[github.com:22]:acme/atlas.git",
    '"https://github.com/acme/atlas.git"  # the one',
    "https://github.com/acme/atlas.git ; the one",
    "https://github.com/acme/%61tlas",
]


@pytest.mark.covers("W4-9")
@pytest.mark.parametrize("url", SPELLINGS)
def test_every_spelling_of_a_remote_is_one_project(url: str, tmp_path: Path) -> None:
    root = make_git(tmp_path / "r", ("origin", url))
    assert resolve_project(None, root) == Project(Scope(ATLAS), "remote", "atlas", root)


@pytest.mark.parametrize(
    "url",
    [
        "https://ann:hunter2/3@github.com/acme/atlas",
        "https://ann:12/hunter2@github.com/acme/atlas",
        "https://hunter2/x@github.com/acme/atlas",
        "tok:hunter2/x@github.com:acme/atlas",
        "hunter2@h:atlas",
        "hunter2@h",
        "https://hunter2@github.com",
        "https://hunter2@/acme",
        "https://[hunter2/acme/atlas",
        "ext::sh -c hunter2",
        "weird:https://hunter2@github.com/acme/atlas",
        "codecommit::eu-west-1://hunter2@atlas",
        ":hunter2",
        "https://",
        '"',
    ],
)
def test_an_address_that_cannot_be_taken_apart_is_not_used(url: str, tmp_path: Path) -> None:
    root = make_git(tmp_path / "atlas", ("origin", url))
    found = resolve_project(None, root)
    assert found.how == "path"
    assert "hunter2" not in found.scope


def test_other_hosts_paths_and_addresses_stay_apart(tmp_path: Path) -> None:
    urls = [
        "https://github.com/acme/atlas",
        "https://gitlab.com/acme/atlas",
        "https://github.com/acme/atlas2",
        "https://github.com/acme/Atlas",
        "https://github.com/acme/sub/atlas",
        "ssh://git@[::1]:22/acme/atlas",
    ]
    scopes = [scope_in(make_git(tmp_path / str(n), ("origin", url))) for n, url in enumerate(urls)]
    assert len(set(scopes)) == len(urls)
    assert scopes[-1] == "project/::1/acme/atlas"


def test_origin_wins_else_the_first_usable_remote(tmp_path: Path) -> None:
    url = "https://github.com/acme/{}"
    both = make_git(tmp_path / "1", ("fork", url.format("fork")), ("origin", url.format("atlas")))
    first = make_git(tmp_path / "2", ("one", url.format("atlas")), ("two", url.format("two")))
    broken = make_git(tmp_path / "3", ("origin", "https://"), ("up", url.format("atlas")))
    old = make_git(tmp_path / "4", text=f"[REMOTE.origin] URL={url.format('atlas')}")
    commented = make_git(tmp_path / "5", ("up", url.format("atlas")), text=f"# [remote]\n;url = {url.format('no')}")
    assert {scope_in(folder) for folder in (both, first, broken, old, commented)} == {ATLAS}


def test_a_very_long_remote_is_cut_and_stays_unique(tmp_path: Path) -> None:
    long = "https://github.com/" + "x" * 300
    one = scope_in(make_git(tmp_path / "1", ("origin", long + "a")))
    other = scope_in(make_git(tmp_path / "2", ("origin", long + "b")))
    assert one != other
    assert len(one) == Scope.LONGEST


@pytest.mark.covers("W4-9")
def test_a_moved_checkout_keeps_its_project_and_a_folder_does_not(tmp_path: Path) -> None:
    hosted, plain = make_git(tmp_path / "a", ("origin", SPELLINGS[0])), make_git(tmp_path / "b")
    before = scope_in(hosted), scope_in(plain)
    after = scope_in(hosted.rename(tmp_path / "a2")), scope_in(plain.rename(tmp_path / "b2"))
    assert before[0] == after[0]
    assert before[1] != after[1]
    assert resolve_project(None, tmp_path / "b2").how == "path"


def test_a_clone_of_a_local_repository_is_its_originals_project(tmp_path: Path) -> None:
    original = make_git(tmp_path / "my atlas")
    urls = [str(original), f"{original}/", f"{original}/.git", "../my atlas", f"file://{original}".replace(" ", "%20")]
    for n, url in enumerate(urls):
        clone = resolve_project(None, make_git(tmp_path / f"clone{n}", ("origin", url)))
        assert (clone.scope, clone.how) == (scope_in(original), "remote"), url


def test_mercurial_says_its_default_path(tmp_path: Path) -> None:
    (tmp_path / ".hg").mkdir()
    assert resolve_project(None, tmp_path).how == "path"
    hgrc = "[ui]\nusername = x\n[paths]\ndefault-push = https://h/no\nup = https://h/no\ndefault = ssh://hg@h.org/acme/atlas\n"
    (tmp_path / ".hg" / "hgrc").write_text(hgrc, encoding="utf-8")
    assert resolve_project(None, tmp_path) == Project(Scope("project/h.org/acme/atlas"), "remote", "atlas", tmp_path)


# ---------------------------------------------------------------- repositories


def test_the_nearest_repository_upward_counts(tmp_path: Path) -> None:
    outer = make_git(tmp_path / "outer", ("origin", "https://github.com/acme/outer"))
    inner = make_git(outer / "vendor" / "atlas", ("origin", SPELLINGS[0]))
    deep = inner / "src" / "deep"
    deep.mkdir(parents=True)
    assert resolve_project(None, deep) == Project(Scope(ATLAS), "remote", "atlas", inner)
    assert resolve_project(None, outer / "vendor").root == outer
    assert repository_root(deep) == inner
    assert repository_root(tmp_path) is None


def add_worktree(main: Path, folder: Path) -> Path:
    own = main / ".git" / "worktrees" / folder.name
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {own}\n")
    return folder


@pytest.mark.covers("W4-9")
@pytest.mark.parametrize("remotes", [[], [("origin", SPELLINGS[0])]])
def test_a_worktree_is_the_project_of_its_main_checkout(remotes: list[tuple[str, str]], tmp_path: Path) -> None:
    main = make_git(tmp_path / "atlas", *remotes)
    tree = add_worktree(main, tmp_path / "fix")
    assert scope_in(tree) == scope_in(main)
    assert resolve_project(None, tree).root == tree


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    outer = make_git(tmp_path / "outer", ("origin", "https://github.com/acme/outer"))
    (outer / "sub").mkdir()
    (outer / "sub" / ".git").write_text("gitdir: ../.git/modules/sub\n")
    modules = outer / ".git" / "modules" / "sub"
    modules.mkdir(parents=True)
    (modules / "config").write_text("[core]\n\tworktree = ../../../sub\n")
    assert scope_in(outer / "sub") == _by_path(outer / "sub", "path", outer).scope
    (modules / "config").write_text(f'[remote "origin"]\nurl = {SPELLINGS[0]}')
    assert scope_in(outer / "sub") == ATLAS


@pytest.mark.parametrize(
    "content", [None, "", "not a pointer", "gitdir: /nowhere/at/all", "gitdir: \x00", "gitdir:", b"\xff\xfe"]
)
def test_a_broken_git_file_falls_back_to_the_path(content: str | bytes | None, tmp_path: Path) -> None:
    (tmp_path / "config").write_text('[remote "origin"]\nurl = https://h/not/mine')  # never read: it is no git's
    if content is None:
        (tmp_path / ".git").mkdir()
    else:
        (tmp_path / ".git").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert resolve_project(None, tmp_path) == _by_path(tmp_path, "path", tmp_path)


@pytest.mark.parametrize(
    "config", [b"\xff\x00[[[", b'[remote "origin', b'[remote "origin"]\nurl', b"url = https://h/o/r"]
)
def test_a_strange_git_config_falls_back_to_the_path(config: bytes, tmp_path: Path) -> None:
    make_git(tmp_path / "r")
    (tmp_path / "r" / ".git" / "config").write_bytes(config)
    assert resolve_project(None, tmp_path / "r").how == "path"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_the_config_does_not_hang(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "config")
    assert resolve_project(None, tmp_path).how == "path"


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
@pytest.mark.covers("W4-9")
def test_what_git_itself_makes_is_understood(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "atlas")
    git("-C", "atlas", "commit", "--allow-empty", "-m", "first")
    git("-C", "atlas", "worktree", "add", "../fix")
    git("clone", "--bare", "atlas", "bare.git")
    git("-C", "bare.git", "worktree", "add", "../of-bare")
    git("init", "--separate-git-dir", "elsewhere", "apart")
    git("-C", "apart", "commit", "--allow-empty", "-m", "first")
    git("-C", "apart", "worktree", "add", "../of-apart")
    git("clone", "atlas", "clone")
    assert scope_in(tmp_path / "fix") == scope_in(tmp_path / "atlas") == scope_in(tmp_path / "clone")
    assert scope_in(tmp_path / "of-bare") == scope_in(tmp_path / "atlas")  # the bare clone's remote
    assert scope_in(tmp_path / "of-apart") == scope_in(tmp_path / "apart")
    git("-C", "atlas", "remote", "add", "origin", 'https://ann:p;"w@github.com/acme/atlas.git')
    assert scope_in(tmp_path / "fix") == scope_in(tmp_path / "atlas") == ATLAS


# ---------------------------------------------------------------- paths


def test_a_plain_folder_is_named_by_its_path(tmp_path: Path) -> None:
    one, other = tmp_path / "a" / "atlas", tmp_path / "b" / "atlas"
    one.mkdir(parents=True)
    other.mkdir(parents=True)
    found = resolve_project(None, one)
    assert (found.how, found.name, found.root) == ("path", "atlas", one)
    assert found.scope.startswith("project/atlas-")
    assert len(found.scope) == len("project/atlas-") + 8
    assert found.scope != scope_in(other)


@pytest.mark.covers("W4-1")
def test_a_link_and_a_relative_path_mean_the_same_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "atlas").mkdir()
    (tmp_path / "link").symlink_to("atlas")
    monkeypatch.chdir(tmp_path)
    assert scope_in(Path("link")) == scope_in(Path("atlas")) == scope_in(tmp_path / "x" / ".." / "atlas")


def test_the_root_folder_has_a_project_too() -> None:
    assert _by_path(Path("/"), "path", Path("/")).scope.startswith("project/folder-")


def test_a_folder_that_cannot_exist_is_refused() -> None:
    with pytest.raises(Invalid, match="full path"):
        resolve_project(None, Path("a\x00b"))


# ---------------------------------------------------------------- any text at all

names = st.text(st.characters(), max_size=300)
words = st.from_regex(r"[A-Za-z0-9_.~-]{1,20}", fullmatch=True).filter(
    lambda word: word.strip(".") and not word.endswith(".git")
)


@given(names)
def test_any_folder_name_gives_a_valid_scope(name: str) -> None:
    assume("/" not in name and "\x00" not in name)
    try:
        folder = Path("/x") / os.fsdecode(name.encode("utf-8", "surrogatepass"))
    except UnicodeDecodeError:
        return
    found = _by_path(folder, "path", folder)
    assert found.scope.count("/") == 1
    assert len(found.scope) <= 8 + 60 + 9


@given(names)
def test_cleaned_text_is_a_part_of_a_scope_and_stays_as_it_is(text: str) -> None:
    part = _clean(text)
    assert _clean(part) == part
    assert "/" not in part
    if part:
        Scope(f"project/{part[:100]}x")


@pytest.mark.covers("W4-9")
@given(
    host=st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9-]{1,20}(\.[a-zA-Z]{2,5}){1,2}", fullmatch=True),
    path=st.lists(words, min_size=1, max_size=4),
    user=words,
    secret=st.from_regex(r"[A-Za-z0-9!$&*+=%@-][A-Za-z0-9!$&*+=:%@-]{0,30}", fullmatch=True),
    port=st.integers(1, 65535),
    suffix=st.sampled_from(["", ".git", "/", ".git/"]),
    scheme=st.sampled_from(["https", "http", "ssh", "git", "git+ssh", "HTTPS"]),
)
def test_all_forms_of_an_address_agree(
    host: str, path: list[str], user: str, secret: str, port: int, suffix: str, scheme: str
) -> None:
    wanted = "/".join([host.lower(), *path])
    rest = "/".join(path) + suffix
    forms = [
        f"{scheme}://{host}/{rest}",
        f"{scheme}://{user}@{host.upper()}:{port}/{rest}",
        f"{scheme}://{user}:{secret}@{host}/{rest}",
        f"{user}@{host}:{rest}",
        f"{user}:{secret}@{host}:/{rest}",
        f"{host.title()}:{rest}",
    ]
    assert [_hosted(form) for form in forms] == [wanted] * len(forms)


@given(
    st.text(max_size=200), st.sampled_from(["", "https://", "ssh://git@", "git@host:", "hg::", "file://", "https://h/"])
)
def test_no_address_breaks_the_rules_of_scopes(text: str, start: str) -> None:
    hosted = _hosted(start + text)
    if hosted is not None and len(hosted) < 190:
        Scope(f"project/{hosted}")
        assert "/" in hosted
