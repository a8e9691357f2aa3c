{# The words that labels are made of, and the part that each plays; `-` is a word that tells nothing. #}
{% macro label_words() -%}
    {{ return({
        'accept': 'accept', 'accepted': 'accept', 'acceptance': 'accept',
        'conditional': 'conditional',
        'oral': 'oral', 'talk': 'oral', 'spotlight': 'spotlight', 'spot': 'spotlight', 'highlight': 'spotlight',
        'poster': 'poster', 'notable': 'notable', 'top': 'notable',
        'withdraw': 'withdrawn', 'withdrawn': 'withdrawn', 'withdrawal': 'withdrawn',
        'desk': 'desk', 'reject': 'reject', 'rejected': 'reject', 'rejection': 'reject', 'not': 'not',
        'workshop': 'workshop', 'invite': 'invite', 'invited': 'invite',
        'submitted': 'submitted', 'submission': 'submission', 'active': 'submission', 'under': 'under',
        'review': 'review', 'conference': 'conference',
        'to': '-', 'as': '-', 'for': '-', 'with': '-', 'a': '-', 'an': '-', 'the': '-', 'after': '-', 'by': '-',
        'author': '-', 'authors': '-', 'paper': '-', 'track': '-', 'main': '-', 'presentation': '-', 'decision': '-',
    }) }}
{%- endmacro %}

{# The parts of a label's words, in their order; NULL for a word that no label is known to have. #}
{% macro label_parts(words) -%}
    {%- set parts = label_words() -%}
    list_transform(
        list_filter(string_split_regex({{ words }}, '[^a-z0-9%]+'), lambda word: word != ''),
        lambda word: map(
            ['{{ parts.keys() | join("', '") }}'],
            ['{{ parts.values() | join("', '") }}']
        )[word]
    )
{%- endmacro %}

{# A label in lower case, without its venue and year, which may stand anywhere, together or apart. #}
{% macro bare_label(text, venue, year) -%}
    lower(regexp_replace(
        -- `ConditionalPoster` is two words.
        regexp_replace(
            {{ text }},
            '(?i)\b(' || regexp_escape({{ venue }}) || '\W*' || {{ year }} || '|'
            || regexp_escape({{ venue }}) || '|' || {{ year }} || ')\b',
            ' ', 'g'
        ),
        '([a-z])([A-Z])', '\1 \2', 'g'
    ))
{%- endmacro %}

{#
    A bare label as words apart, in whichever case they were joined. The number of `top 5%` goes, and so does what an
    acceptance is conditional on, unless it is no acceptance after all.
#}
{% macro words_of_label(bare) -%}
    regexp_replace(
        regexp_replace(
            regexp_replace(
                regexp_replace({{ bare }}, '\btop\W*\d{1,3}\s*%', ' top ', 'g'),
                '\bconference', ' conference ', 'g'
            ),
            '\bconditional(ly)?', ' conditional ', 'g'
        ),
        case
            when regexp_matches({{ bare }}, 'reject|withdr|desk') then '$^' else '\bconditional\s+(up)?on\b.*'
        end,
        'conditional'
    )
{%- endmacro %}
