"""Resources and prompts: a memory as `memory://item/{id}`, and the words that tell a model how to use its memory."""

import json

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from memorist.surfaces.mcp import words
from surfaces.agents import ERAS, Agent, door, talk


@pytest.mark.parametrize("mode", ERAS)
def test_memories_are_resources_under_the_ids_of_hits(mode: str) -> None:
    async def work(agent: Agent) -> None:
        await agent("memory_add", text="Staging runs Postgres 16", kind="decision")
        [listed] = (await agent.client.list_resources()).resources
        assert (str(listed.uri), listed.title) == ("memory://item/1", "Staging runs Postgres 16")
        [template] = (await agent.client.list_resource_templates()).resource_templates
        assert template.uri_template == "memory://item/{id}" and template.description
        [read] = (await agent.client.read_resource("memory://item/1")).contents
        assert isinstance(read, types.TextResourceContents)
        assert json.loads(read.text)["text"] == "Staging runs Postgres 16"

    talk(door(), work, mode)


def test_resources_are_the_memories_that_a_question_finds() -> None:
    async def work(agent: Agent) -> None:
        kept = await agent("memory_add", text="Staging runs Postgres 16")
        await agent("memory_add_task", title="Mend the build")
        await agent("memory_ingest", messages=[{"role": "user", "content": "Hello"}], session="s1")
        [listed] = (await agent.client.list_resources()).resources
        assert str(listed.uri) == f"memory://item/{kept['id']}"

    talk(door(profile="all"), work)


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(
    "uri", ["memory://item/99", "memory://item/", "memory://other/1", "file:///etc/passwd", "memory://item/%2e%2e/1"]
)
def test_what_is_no_resource_is_an_error_that_names_it(mode: str, uri: str) -> None:
    async def work(agent: Agent) -> None:
        await agent("memory_add", text="Staging runs Postgres 16")
        with pytest.raises(MCPError) as problem:
            await agent.client.read_resource(uri)
        assert problem.value.code == types.INVALID_PARAMS and problem.value.error.data == {"uri": uri}

    talk(door(), work, mode)


@pytest.mark.parametrize("mode", ERAS)
def test_a_cursor_of_something_else_is_refused(mode: str) -> None:
    async def work(agent: Agent) -> None:
        client = agent.client
        lists = (client.list_tools, client.list_resources, client.list_resource_templates, client.list_prompts)
        for listed in lists:
            assert (await listed()).next_cursor is None
            with pytest.raises(MCPError, match="ask without it") as problem:
                await listed(cursor="2")
            assert problem.value.code == types.INVALID_PARAMS

    talk(door(), work, mode)


@pytest.mark.covers("S1-4", "N1-7")
@pytest.mark.parametrize("mode", ERAS)
def test_the_prompts_have_descriptions_and_say_what_they_promise(mode: str) -> None:
    async def work(agent: Agent) -> None:
        offered = (await agent.client.list_prompts()).prompts
        assert [prompt.name for prompt in offered] == ["recall_protocol", "start_task", "keep_learnt"]
        assert all(prompt.title and prompt.description for prompt in offered)
        assert all(argument.description for prompt in offered for argument in prompt.arguments or ())
        said = await agent.client.get_prompt("recall_protocol")
        [message] = said.messages
        assert isinstance(message.content, types.TextContent) and message.content.text == words.protocol("core")
        await agent("memory_add", text="Staging runs Postgres 16")
        begun = (
            (await agent.client.get_prompt("start_task", {"task": "Upgrade the staging database"})).messages[0].content
        )
        assert isinstance(begun, types.TextContent)
        assert begun.text.startswith("Upgrade the staging database") and "Postgres 16" in begun.text
        assert "holds about it in project default:" in begun.text

    talk(door(), work, mode)


def test_resources_and_prompts_leave_the_tools_of_their_verbs_as_they_are() -> None:
    async def work(agent: Agent) -> None:
        await agent("memory_add", text="Staging runs Postgres 16")
        await agent.client.list_resources()
        await agent.client.read_resource("memory://item/1")
        await agent.client.get_prompt("start_task", {"task": "Upgrade the staging database"})
        assert (await agent("memory_list", order="-at", where={"kind": "fact"}))["memories"]
        assert (await agent("memory_context", query="the staging database", budget=300, style="xml"))["ids"] == [1]

    talk(door(profile="all"), work)


@pytest.mark.parametrize(("name", "given"), [("x", {}), ("start_task", {}), ("recall_protocol", {"a": "b"})])
def test_a_prompt_that_is_not_there_or_lacks_an_argument_is_an_error(name: str, given: dict[str, str]) -> None:
    async def work(agent: Agent) -> None:
        with pytest.raises(MCPError) as problem:
            await agent.client.get_prompt(name, given)
        assert problem.value.code == types.INVALID_PARAMS

    talk(door(), work)
