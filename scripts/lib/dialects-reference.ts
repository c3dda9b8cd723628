// Makes docs/reference/dialects.md from the fixtures that the tests run, so that the page says only what is
// tested.
import { join } from 'node:path'
import { accountWordings, cacheWordings, dialects, otherWordings, overflowWordings } from '@beaver/testing'
import { type SeenServer, seenServers } from '../../test/conformance/models/seen-server.ts'
import { root } from './layout.mjs'

const linked = (urls: readonly string[]): string => urls.map((url, i) => `[${i + 1}](${url})`).join(', ')
const row = (...cells: readonly string[]): string => `| ${cells.join(' | ')} |`
const plain = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')

const meanings: Readonly<Record<string, string>> = {
  provider_refused: 'the request is refused',
  rate_limited: 'a limit over time: Beaver waits',
  provider_unavailable: 'the server is broken: Beaver waits',
  malformed_output: 'the model wrote what its server cannot read: Beaver asks again',
}

const refusedHelps = {
  key: 'the key',
  markers: 'marks',
  marks_in_results: 'marks in the parts of results of tools',
} as const

const seenFolder = join(root, 'test', 'conformance', 'models', 'seen')

/**
 * The page, as `pnpm docs:dialects` writes it.
 *
 * @param seen what servers said to `pnpm conformance:models`. Default: the files that are committed
 */
export function dialectsReference(seen: readonly SeenServer[] = seenServers(seenFolder)): string {
  const live = seen.filter((each) => !each.stand_in)
  const lines = [
    '# Dialects of models',
    '',
    '`pnpm docs:dialects` generates this page from the fixtures of the tests; do not edit it. Every server that speaks chat completions has habits of its own. Beaver has no switch for them: it reads what means the same as the same, and it learns from a refusal what a server does not take. [Configure models](../how-to/configure-models.md) shows how to name an endpoint.',
    '',
    `## ${dialects.length} makers and servers`,
    '',
    'The fixtures have the forms that the sources show; no live server was asked for them. [Servers seen live](#servers-seen-live) says of which servers the forms were compared with what they really said. Each one runs whole and streamed through a loop with a tool, and in a task on a real daemon through two tool calls, a conversation that is too long, a team and the end.',
    '',
    ...makerRows(live),
    '',
    ...seenSection(
      live,
      seen.filter((each) => each.stand_in),
    ),
    '',
    `## ${overflowWordings.length} ways to say that a conversation is too long`,
    '',
    'Beaver then shortens the conversation and asks again.',
    '',
    row('server', 'status', 'source'),
    row('---', '---', '---'),
    ...overflowWordings.map(({ server, status, url }) => row(plain(server), String(status), linked([url]))),
    '',
    `## ${accountWordings.length} ways to say that an account has nothing left`,
    '',
    'No pause helps. Beaver asks the next model of the route at once, or fails the run and says so.',
    '',
    row('server', 'status', 'source'),
    row('---', '---', '---'),
    ...accountWordings.map(({ server, status, url }) => row(plain(server), String(status), linked([url]))),
    '',
    `## ${otherWordings.length} refusals that sound alike`,
    '',
    row('server', 'status', 'what it means', 'source'),
    row('---', '---', '---', '---'),
    ...otherWordings.map((each) =>
      row(plain(each.server), String(each.status), meanings[each.class] ?? each.class, linked([each.url])),
    ),
    '',
    `## ${cacheWordings.length} refusals of what helps a cache`,
    '',
    'Beaver then asks again without it. [Help the cache of an endpoint](../how-to/configure-models.md#help-the-cache-of-an-endpoint) says what is sent to whom.',
    '',
    row('server', 'status', 'what it does not take', 'source'),
    row('---', '---', '---', '---'),
    ...cacheWordings.map((each) =>
      row(plain(each.server), String(each.status), refusedHelps[each.refuses], linked([each.url])),
    ),
    '',
    '## What Beaver learns from a refusal',
    '',
    'A refusal teaches one thing, and Beaver asks again at once. It remembers the habit of the endpoint until the daemon ends. A refusal that no row names fails the run with the words of the server.',
    '',
    row('what the server says', 'what it gets from then on'),
    row('---', '---'),
    ...learned.map((cells) => row(...cells)),
    '',
  ]
  return lines.join('\n')
}

function makerRows(live: readonly SeenServer[]): string[] {
  const knownFrom = (name: string): string => {
    const days = live.filter((each) => each.name === name).map((each) => each.seen_on)
    return days.length === 0 ? 'its sources' : `seen live on ${days.toSorted().at(-1)}`
  }
  return [
    row('maker or server', 'what is special', 'whole', 'streamed', 'known from', 'sources'),
    row('---', '---', '---', '---', '---', '---'),
    ...dialects.map(({ name, quirks, call, answer, sources }) =>
      row(
        name,
        plain(quirks.join('; ')),
        'a call, an answer',
        `a call in ${call.streamed.length} events, an answer in ${answer.streamed.length}`,
        knownFrom(name),
        linked(sources),
      ),
    ),
  ]
}

/** Which servers were asked, and which files only come from stand-ins. */
function seenSection(live: readonly SeenServer[], standIns: readonly SeenServer[]): string[] {
  const names = (server: SeenServer, result: string): string =>
    server.judged.flatMap((each) => (each.result === result ? [each.name] : [])).join(', ') || 'none'
  const shown = [...new Set(standIns.map(({ name }) => name))].join(' and ')
  return [
    '## Servers seen live',
    '',
    '`pnpm conformance:models` [asks a live server](../how-to/configure-models.md#check-a-server) for what a team needs, and writes what the server really said into `test/conformance/models/seen`. A test gives these answers to Beaver again and compares what it makes of them.',
    '',
    ...(live.length === 0
      ? [
          'No live server was seen in this way yet. All that this page says about servers is from their documentation and from public threads.',
        ]
      : [
          row('server', 'model', 'protocol', 'seen on', 'failed', 'not supported', 'not seen'),
          row('---', '---', '---', '---', '---', '---', '---'),
          ...live.map((each) =>
            row(
              ...[each.name, each.model, each.protocol, each.seen_on].map(plain),
              names(each, 'failed'),
              names(each, 'unsupported'),
              names(each, 'unasked'),
            ),
          ),
        ]),
    ...(standIns.length === 0
      ? []
      : [
          '',
          `The files of ${shown} are from stand-ins. They show that the command works, and nothing about a live server.`,
        ]),
  ]
}

const learned: readonly (readonly [string, string])[] = [
  ['it does not know `stream_options`', 'streams without a count of tokens'],
  [
    'it does not know the key or the marks for its cache, or takes texts only',
    'requests without them; marks of results first at their messages',
  ],
  ['it does not know the thoughts that it sent itself', 'calls without them'],
  [
    'thoughts or signatures are missing with a call of another model',
    'empty thoughts, or the signature that Gemini has for a call of somebody else',
  ],
  ['it has the other name for the most tokens of an answer', '`max_tokens` or `max_completion_tokens`'],
  [
    'the roles must take turns; no user message after the result of a tool',
    'user messages joined to one; “I have read it.” between a result and a user message',
  ],
  ['it has no role `system`', 'the system prompt at the beginning of the first user message'],
  ['its template knows the roles `user` and `assistant` only', 'calls and results as text'],
  ['a message may have one call only', 'each call in a message of its own, followed by its result'],
  [
    'ids of calls must have nine letters and digits, or no dots and colons, or fewer characters',
    'ids of nine letters and digits, derived from the old ones',
  ],
  ['a message must have a text', 'an empty text, or `(empty)` if that is refused too'],
  [
    'a conversation with calls must describe tools',
    'the names of the called tools, and `tool_choice: "none"`',
  ],
]
