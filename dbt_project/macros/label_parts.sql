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

{# A text in which words that stand joined, in whichever case, stand apart: `spotlightposter` is two words. #}
{% macro words_apart(text) -%}
    {#- In this order a word comes before its own beginning. A token is split only if known words make up all of it, six
        at most; with the word `a` among them, `atop` would be one. #}
    {%- set known = label_words().keys() | reject('equalto', 'a') | sort(reverse=true) -%}
    regexp_replace(
        {{ text }},
        '\b({{ known | join("|") }}){{ ("(" ~ known | join("|") ~ ")?") * 5 }}\b',
        '\1 \2 \3 \4 \5 \6', 'g'
    )
{%- endmacro %}

{#
    A label in lower case with its words apart, without the path of its venue's group, which may begin it, and without
    its venue and year, which may stand anywhere, together or apart.
#}
{% macro bare_label(text, venue, year, venue_id) -%}
    {%- set below_group -%}
        case
            when starts_with(lower({{ text }}), lower({{ venue_id }}) || '/')
                then substr({{ text }}, length({{ venue_id }}) + 2)
            else {{ text }}
        end
    {%- endset -%}
    {%- set without_venue -%}
        regexp_replace(
            {{ below_group }},
            '(?i)\b(' || regexp_escape({{ venue }}) || '\W*' || {{ year }} || '|'
            || regexp_escape({{ venue }}) || '|' || {{ year }} || ')\b',
            ' ', 'g'
        )
    {%- endset -%}
    {#- Of `ConditionalOnEthicsReview` not every word is known: its case alone tells them apart. #}
    {%- set apart_by_case -%}
        replace(lower(regexp_replace({{ without_venue }}, '([a-z])([A-Z])', '\1 \2', 'g')), '_', ' ')
    {%- endset -%}
    {{ words_apart(apart_by_case) }}
{%- endmacro %}

{#
    The words of a bare label that count. The number of `top 5%` goes, and so does what an acceptance is conditional on,
    as far as the next `)`, `,`, `;`, `:` or `/`: the decision may follow there. It stays, and leaves the label unknown,
    where the rest tells of a rejection or a withdrawal, or where it does so itself and nothing else tells of an
    acceptance.
#}
{% macro words_of_label(bare) -%}
    {%- set refusal = "'reject|withdr|desk'" -%}
    {%- set whole -%}
        regexp_replace(
            regexp_replace({{ bare }}, '\btop\W*\d{1,3}\s*%', ' top ', 'g'),
            '\bconditional(ly)?', ' conditional ', 'g'
        )
    {%- endset -%}
    {%- set rest -%}
        regexp_replace({{ whole }}, '\bconditional\s+(up)?on\b[^),;:/]*', 'conditional', 'g')
    {%- endset -%}
    case
        when regexp_matches({{ rest }}, {{ refusal }}) then {{ whole }}
        when
            regexp_matches({{ bare }}, {{ refusal }})
            and not regexp_matches({{ rest }}, 'accept|oral|talk|spot|highlight|poster|notable|\btop\b')
            then {{ whole }}
        else {{ rest }}
    end
{%- endmacro %}
