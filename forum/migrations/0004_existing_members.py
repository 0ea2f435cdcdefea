from django.db import migrations

# Until now each member of an account entered all its forums. Those who wrote or voted in a forum stay its members, and so do all members of
# an account with one forum: they signed up there, or the team created or invited them. Of the others the team decides. They cannot enter
# until then. The 10,000 who came last are listed for each forum.
FILL_MEMBERS = """
WITH closed AS (
    SELECT account_id, id, NOT EXISTS (
        SELECT FROM forum_forum AS other WHERE other.account_id = forum.account_id AND other.id <> forum.id
    ) AS is_only
    FROM forum_forum AS forum WHERE access <> 'public'
), author AS (
    SELECT post.account_id, post.forum_id, post.user_id FROM forum_post AS post
    JOIN closed ON closed.account_id = post.account_id AND closed.id = post.forum_id
    UNION SELECT post.account_id, post.forum_id, vote.user_id FROM forum_post AS post
    JOIN closed ON closed.account_id = post.account_id AND closed.id = post.forum_id
    JOIN forum_vote AS vote ON vote.account_id = post.account_id AND vote.post_id = post.id
    UNION SELECT post.account_id, post.forum_id, comment.user_id FROM forum_post AS post
    JOIN closed ON closed.account_id = post.account_id AND closed.id = post.forum_id
    JOIN forum_comment AS comment ON comment.account_id = post.account_id AND comment.post_id = post.id
), candidate AS (
    SELECT closed.account_id, closed.id AS forum_id, member.id AS user_id, member.is_active,
        closed.is_only OR author.user_id IS NOT NULL AS is_member,
        row_number() OVER (
            PARTITION BY closed.account_id, closed.id, closed.is_only OR author.user_id IS NOT NULL ORDER BY member.id DESC
        ) AS place
    FROM closed JOIN accounts_user AS member ON member.account_id = closed.account_id AND member.role = 'member'
    LEFT JOIN author ON author.account_id = closed.account_id AND author.forum_id = closed.id AND author.user_id = member.id
)
INSERT INTO forum_forummember (account_id, forum_id, user_id, state, created_at)
SELECT account_id, forum_id, user_id, CASE WHEN is_member THEN 'member' ELSE 'pending' END, now()
FROM candidate WHERE is_member OR (is_active AND place <= 10000)
ORDER BY account_id, forum_id, user_id;

-- An invitation did not name a forum. Those of members lead to the first forum of the account now.
UPDATE accounts_invitation AS invitation SET site_ids = ARRAY[forum.id] FROM forum_forum AS forum
WHERE invitation.role = 'member' AND forum.account_id = invitation.account_id AND forum.is_default;
"""


class Migration(migrations.Migration):
    """Fill the members of forums, after the transaction that locks the tables for their foreign keys."""

    dependencies = [("forum", "0003_members")]

    operations = [migrations.RunSQL(FILL_MEMBERS, migrations.RunSQL.noop)]
