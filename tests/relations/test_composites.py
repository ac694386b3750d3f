"""Keys of several columns are found as wholes."""

from __future__ import annotations

from tests.relations.shapes import found

ORDERS = "orders: *tenant_id i, *order_no i\n"


def test_a_table_that_holds_the_whole_key_points_with_all_of_it() -> None:
    """One relation, not one for each column."""
    schema = ORDERS + "lines: *tenant_id i, *order_no i, *line_no i, amount n"

    assert found(schema) == {"lines.tenant_id+order_no > orders.tenant_id+order_no"}


def test_a_longer_key_says_the_shorter_one_too() -> None:
    """A key to order lines also leads to their orders."""
    schema = ORDERS + "lines: *tenant_id i, *order_no i, *line_no i\nnotes: *id i, tenant_id i, order_no i, line_no i"

    assert found(schema) == {
        "lines.tenant_id+order_no > orders.tenant_id+order_no",
        "notes.tenant_id+order_no+line_no > lines.tenant_id+order_no+line_no",
    }


def test_a_declared_key_of_several_columns_is_not_repeated() -> None:
    """In whatever order it was declared."""
    assert found(ORDERS + "notes: *id i, order_no i, tenant_id i, (tenant_id,order_no)>orders") == set()


def test_two_tables_that_relate_the_same_things_do_not_point_to_each_other() -> None:
    """They have the same key, and each column its own parent."""
    schema = "users: *id i\nsongs: *id i\nlikes: *user_id i, *song_id i\nplays: *user_id i, *song_id i"

    assert found(schema) == {
        "likes.user_id > users.id",
        "likes.song_id > songs.id",
        "plays.user_id > users.id",
        "plays.song_id > songs.id",
    }


def test_a_table_that_extends_another_points_to_it() -> None:
    """Its name shows it, and rows correspond one to one."""
    schema = "course: *term i, *course_no i\ncourse_room: *term i, *course_no i, room t"

    assert "course_room.term+course_no > course.term+course_no" in found(schema)
