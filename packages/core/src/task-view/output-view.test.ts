import { expect, it } from 'vitest'
import type { RecordedEvent } from '../journal/record.ts'
import type { LiveDelta } from '../ports/live-output.ts'
import {
  addPiece,
  endOutput,
  evolveOutput,
  newOutput,
  type OutputChange,
  type OutputView,
} from './output-view.ts'

const began = { type: 'run_started', data: { run_id: 'root', team_run_id: null } } as RecordedEvent
const brought = {
  type: 'task_submitted',
  data: { request: { client_tools: [{ name: 'colour' }] } },
} as unknown as RecordedEvent
const said = (content: string, tools: readonly string[] = [], runId = 'root', name = 'tool'): RecordedEvent =>
  ({
    type: 'assistant_message_added',
    runId,
    data: { content, tool_calls: tools.map((id) => ({ id, name, arguments: '{}' })) },
  }) as RecordedEvent
const asks = (callId: string): RecordedEvent =>
  ({
    type: 'client_call_requested',
    taskseq: 7,
    runId: 'root',
    data: { call_id: callId, tool_name: 'colour' },
  }) as unknown as RecordedEvent
const result = (callId: string, success = true): RecordedEvent =>
  ({
    type: 'tool_result_recorded',
    runId: 'root',
    data: { call_id: callId, success, content: `result of ${callId}` },
  }) as RecordedEvent
const piece = (call: number, offset: number, text: string, node: string | null = null): LiveDelta => ({
  run_id: 'root',
  agent_name: 'root',
  node_id: node,
  call,
  offset,
  text,
})

const evolve = (output: OutputView, each: RecordedEvent | LiveDelta): OutputChange[] =>
  'call' in each ? addPiece(output, each) : evolveOutput(output, each)

/** What a reader is told, one word for each change. */
const words = (changes: readonly OutputChange[]): string[] =>
  changes.map((change) =>
    change.kind === 'text'
      ? `${change.index}+${change.delta}`
      : `${change.index} ${change.kind}${change.kind === 'begun' && change.item.kind === 'call' && change.item.requestedAt !== undefined ? ` at ${change.item.requestedAt}` : ''}${change.kind === 'ended' && change.item.kind === 'text' ? ` ${change.item.final ? 'final' : 'not final'}` : ''}`,
  )

function told(end: string | null, ...inputs: readonly (RecordedEvent | LiveDelta)[]): string[] {
  const output = newOutput({})
  const changes = inputs.flatMap((each) => evolve(output, each))
  return words([...changes, ...(end === null ? [] : endOutput(output, end))])
}

it.each<[string, string | null, (RecordedEvent | LiveDelta)[], string[]]>([
  [
    'an answer in pieces',
    'ab',
    [began, piece(1, 0, 'a'), piece(1, 1, 'b'), said('ab')],
    ['0 begun', '0+a', '0+b', '0 ended final'],
  ],
  ['an answer without pieces', 'ab', [began, said('ab')], ['0 begun', '0+ab', '0 ended final']],
  [
    'pieces before the run',
    'ab',
    [piece(1, 0, 'a'), began, said('ab')],
    ['0 begun', '0+a', '0+b', '0 ended final'],
  ],
  [
    'a lost piece',
    'abc',
    [began, piece(1, 0, 'a'), piece(1, 2, 'c'), said('abc')],
    ['0 begun', '0+a', '0+bc', '0 ended final'],
  ],
  [
    'a lost first piece',
    'abc',
    [began, piece(1, 1, 'b'), said('abc')],
    ['0 begun', '0+abc', '0 ended final'],
  ],
  ['a late piece', 'ab', [began, said('ab'), piece(1, 0, 'a')], ['0 begun', '0+ab', '0 ended final']],
  [
    'a new try that says the same',
    'abc',
    [began, piece(1, 0, 'ab'), piece(1, 0, 'a'), said('abc')],
    ['0 begun', '0+ab', '0+c', '0 ended final'],
  ],
  [
    'a new try that says something else',
    'xyz',
    [began, piece(1, 0, 'ab'), piece(1, 0, 'xy'), said('xyz')],
    ['0 begun', '0+ab', '0 ended not final', '1 begun', '1+xyz', '1 ended final'],
  ],
  [
    'calls between two texts',
    'b',
    [began, said('a', ['c1', 'c2']), result('c2'), result('c1', false), said('b')],
    [
      '0 begun',
      '0+a',
      '0 ended not final',
      '1 begun',
      '2 begun',
      '2 ended',
      '1 ended',
      '3 begun',
      '3+b',
      '3 ended final',
    ],
  ],
  [
    'a piece of the next answer before the end of this one and the result of its call',
    'b',
    [began, piece(1, 0, 'a'), piece(2, 0, 'b'), said('a', ['c1']), result('c1'), said('b')],
    ['0 begun', '0+a', '0 ended not final', '1 begun', '1 ended', '2 begun', '2+b', '2 ended final'],
  ],
  [
    'calls of the client, and one that never reaches it',
    'b',
    [
      brought,
      began,
      said('a', ['c1', 'c2', 'c3'], 'root', 'colour'),
      asks('c2'),
      asks('c1'),
      result('c3', false),
      result('c1'),
      result('c2'),
      said('b'),
    ],
    [
      '0 begun',
      '0+a',
      '0 ended not final',
      '1 begun at 7',
      '2 begun at 7',
      '3 begun',
      '3 ended',
      '2 ended',
      '1 ended',
      '4 begun',
      '4+b',
      '4 ended final',
    ],
  ],
  [
    'a final text that the root did not write',
    'team',
    [began, said('', ['c1']), result('c1')],
    ['0 begun', '0 ended', '1 begun', '1+team', '1 ended final'],
  ],
  ['a workflow without a root', 'text', [], ['0 begun', '0+text', '0 ended final']],
  [
    'a text that was begun when the task failed',
    '',
    [began, piece(1, 0, 'a')],
    ['0 begun', '0+a', '0 ended not final'],
  ],
  [
    'what others say',
    'ab',
    [began, piece(1, 0, 'x', 'node'), said('x', [], 'worker'), said('ab')],
    ['0 begun', '0+ab', '0 ended final'],
  ],
  ['nothing', '', [], []],
])('%s', (_, end, inputs, changes) => expect(told(end, ...inputs)).toEqual(changes))

it('an item is shown as it was when it was told', () => {
  const output = newOutput({})
  const changes = [began, said('a', ['c1']), result('c1')].flatMap((event) => evolveOutput(output, event))
  expect(changes.map((change) => (change.kind === 'text' ? change.delta : change.item))).toMatchObject([
    { text: '', done: false, final: null },
    'a',
    { text: 'a', done: true },
    { name: 'tool', result: null },
    { result: { success: true, content: 'result of c1' } },
  ])
})

it('the pieces of each text are together the text, whatever comes in whichever order', () => {
  const inputs = [
    began,
    piece(1, 0, 'a'),
    piece(1, 1, 'b'),
    said('ab', ['c1']),
    result('c1'),
    piece(2, 0, 'c'),
    piece(2, 0, 'd'),
    said('dd'),
  ]
  for (let seed = 1; seed < 2_000; seed++) {
    const output = newOutput({})
    const events = inputs.filter((each) => !('call' in each))
    const pieces = inputs.filter((each) => 'call' in each)
    const texts = new Map<number, string>()
    for (
      let state = seed;
      events.length + pieces.length > 0;
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    ) {
      const next = (events.length === 0 || (pieces.length > 0 && state % 7 < 3) ? pieces : events).shift() as
        | RecordedEvent
        | LiveDelta
      for (const change of evolve(output, next))
        if (change.kind === 'text') texts.set(change.index, (texts.get(change.index) ?? '') + change.delta)
    }
    for (const change of endOutput(output, 'dd'))
      if (change.kind === 'text') texts.set(change.index, (texts.get(change.index) ?? '') + change.delta)
    expect(
      output.items.flatMap((item, i) => (item.kind === 'text' ? [[i, item.text, item.done]] : [])),
    ).toEqual([...texts].toSorted(([a], [b]) => a - b).map(([i, text]) => [i, text, true]))
    expect(output.items.at(-1)).toMatchObject({ kind: 'text', text: 'dd', final: true })
  }
})
