import { event } from '@beaver/core'
import { expect, test } from 'vitest'
import * as log from '../../test/task-events.ts'
import { evolveView, newView } from './task-view.ts'
import { tellEvent } from './tell-event.ts'

test('a workflow without a root agent is told by its nodes', () => {
  const view = newView()
  const more = [
    log.shared('find', { action: 'increment', path: 'seen', by: 2 }),
    log.nodeCancelRequested('find', 'enough'),
    log.nodeCancelled('find', 'enough'),
  ]
  const lines = log.recorded([...log.workflowAtWork, ...more]).flatMap((event) => {
    evolveView(view, event)
    return tellEvent(event, view) ?? []
  })
  expect(lines.map((line) => line.slice(11))).toEqual([
    'task                task_1 accepted as workflow:map',
    'team                workflow:map with 6 nodes: split, find, branch, broken, behind, end',
    'split               computed ["x","y"]',
    'team                grew by 1 agent after split: item',
    'branch              skipped: The condition does not hold.',
    'broken              failed: No code for this.',
    'behind              blocked by broken',
    'split               note (unknown_member): The list has an empty place.',
    'task                taken over by another daemon',
    'find                calls file_stats',
    'find                shared state: seen + 2',
    'find                cancel requested: enough',
    'find                cancelled: enough',
  ])
})

test('a run is told in plain lines: when, who, what', () => {
  const view = newView()
  const lines = log
    .recorded([
      ...log.teamAtWork.slice(0, 11),
      log.nodeFailed('collect', 'No list.'),
      log.nodeBlocked('count', 'collect'),
      log.ended('task_incomplete', { class: 'evidence_missing', message: 'No list.' }),
    ])
    .flatMap((event) => {
      evolveView(view, event)
      return tellEvent(event, view) ?? []
    })
  expect(lines).toEqual([
    '    0.0 s  task                task_1 accepted',
    '    0.2 s  root                started with 1 tool',
    '    0.4 s  root                calls SequentialWorkflow',
    '    0.5 s  team                SequentialWorkflow with 3 agents: collect, count, write',
    '    0.7 s  collect             started with 1 tool',
    '    0.9 s  collect             calls list_files',
    '    1.0 s  collect             list_files succeeded in 5 ms',
    '    1.1 s  collect             failed: No list.',
    '    1.2 s  count               blocked by collect',
    '    1.3 s  task                incomplete: No list.',
  ])
})

test('what a person was asked and answered is told by the name of the tool, a failed call by its message', () => {
  const view = newView()
  const call = { call_id: 'run_root.run_command', tool_name: 'run_command' }
  const refused = { ...call, success: false, content: '{"message":"ben denied it."}', error: 'approval_denied', duration_ms: 0 }
  const lines = log
    .recorded([
      ...log.teamAtWork.slice(0, 4),
      log.failedCall('run_root'),
      log.calls('run_root', 'run_command'),
      event('approval_requested', { ...call, subject: 'rm -rf build', rule: null }, 'run_root'),
      event('approval_denied', { call_id: call.call_id, by: 'ben', reason: 'Not that folder.' }, 'run_root'),
      event('tool_result_recorded', refused, 'run_root'),
    ])
    .flatMap((each) => {
      evolveView(view, each)
      return tellEvent(each, view) ?? []
    })
  expect(lines.slice(2).map((line) => line.slice(31))).toEqual([
    'model call failed (provider_unavailable): HTTP 503 Next try in 0.5 s.',
    'calls run_command',
    'waits for an approval of run_command: rm -rf build',
    'may not call run_command: ben refused it. Not that folder.',
    'run_command failed (approval_denied): ben denied it.',
  ])
})
