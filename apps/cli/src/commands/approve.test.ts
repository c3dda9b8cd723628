import type { AskedCallAnswer } from '@beaver/contracts'
import { expect, test } from 'vitest'
import { chooseCall } from './approve.ts'

const call = (call_id: string, run_id = 'run_1'): AskedCallAnswer => ({
  task_id: 't',
  session_id: 's',
  run_id,
  agent_name: 'Root agent',
  node_id: null,
  call_id,
  tool: 'x',
  subject: '',
  rule: null,
  call_hash: null,
  preview: null,
  arguments: null,
  state: 'waiting',
  requested_at: null,
  taskseq: 9,
  by: null,
  user_id: null,
  reason: null,
  decided_at: null,
})
const found = (typed: string | undefined, ...calls: AskedCallAnswer[]): string[] =>
  chooseCall(calls, typed).found.map((each) => `${each.run_id}/${each.call_id}`)

test.each<[string, string | undefined, AskedCallAnswer[], string[]]>([
  ['left out: all that wait', undefined, [call('a'), call('b')], ['run_1/a', 'run_1/b']],
  ['a whole id wins over a beginning', 'call_1', [call('call_1'), call('call_10')], ['run_1/call_1']],
  ['the beginning of an id', 'call_2', [call('call_1'), call('call_22')], ['run_1/call_22']],
  ['an id of two runs is both', 'c', [call('c'), call('c', 'run_2')], ['run_1/c', 'run_2/c']],
  ['an id with its run is one', 'run_2/c', [call('c'), call('c', 'run_2')], ['run_2/c']],
  ['an id nobody waits for', 'z', [call('a')], []],
])('a call named by %s', (_, typed, calls, expected) => expect(found(typed, ...calls)).toEqual(expected))
