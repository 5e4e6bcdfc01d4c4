"""What is tested here is stores: no small model has to judge what is written."""

import pytest


@pytest.fixture(autouse=True)
def unread(without_reader: None) -> None: ...
