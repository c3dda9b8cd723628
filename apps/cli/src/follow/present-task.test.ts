import { event } from '@beaver/core'
import { evolveTaskView, newTaskView } from '@beaver/core/task-view'
import { expect, test } from 'vitest'
import * as log from '../../test/task-events.ts'
import { tellEvent } from './present-task.ts'

test('a workflow without a root agent is told by its nodes', () => {
  const view = newTaskView()
  const more = [
    log.shared('find', { action: 'increment', path: 'seen', by: 2 }),
    log.nodeCancelRequested('find', 'enough'),
    log.nodeCancelled('find', 'enough'),
  ]
  const lines = log.recorded([...log.workflowAtWork, ...more]).flatMap((event) => {
    evolveTaskView(view, event)
    return tellEvent(event, view) ?? []
  })
  expect(lines.map((line) => line.slice(11))).toEqual([
    'task                task_1 was submitted as the workflow workflow:map: Report on this folder',
    'team                started: workflow:map with 6 nodes (3 agents, 1 tool call, 2 computed): split, find, branch, broken, behind, end.',
    'split               was computed: ["x","y"]',
    'team                grew by 1 node after split: item.',
    'branch              was skipped: The condition does not hold.',
    'broken              failed (internal): No code for this.',
    'behind              is blocked: node broken did not complete.',
    'split               has a note (unknown_member): The list has an empty place.',
    'daemon              took the task over.',
    'find                calls the tool file_stats, as its graph says.',
    'find                added 2 to seen in the shared state.',
    'find                is to be cancelled: enough.',
    'find                was cancelled: enough.',
  ])
})

test('a run is told in plain lines: when, who, what', () => {
  const view = newTaskView()
  const lines = log
    .recorded([
      ...log.teamAtWork.slice(0, 11),
      log.nodeFailed('collect', 'No list.'),
      log.nodeBlocked('count', 'collect'),
      log.ended('task_incomplete', { class: 'evidence_missing', message: 'No list.' }),
    ])
    .flatMap((event) => {
      evolveTaskView(view, event)
      return tellEvent(event, view) ?? []
    })
  expect(lines).toEqual([
    '    0.0 s  task                task_1 was submitted: Report on this folder',
    '    0.2 s  Root agent          started with 1 tool.',
    '    0.4 s  Root agent          called SequentialWorkflow.',
    '    0.5 s  team                started: SequentialWorkflow with 3 nodes: collect, count, write.',
    '    0.7 s  collect             started with 1 tool.',
    '    0.9 s  collect             called list_files.',
    '    1.0 s  collect             list_files succeeded in 5 ms.',
    '    1.1 s  collect             failed (evidence_missing): No list.',
    '    1.2 s  count               is blocked: node collect did not complete.',
    '    1.3 s  task                ended incomplete (evidence_missing): No list.',
  ])
})

test('what a person was asked and answered is told by the name of the tool, a failed call by its message', () => {
  const view = newTaskView()
  const call = { call_id: 'run_root.run_command', tool_name: 'run_command' }
  const refused = {
    ...call,
    success: false,
    content: '{"message":"ben denied it."}',
    error: 'approval_denied',
    duration_ms: 0,
  }
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
      evolveTaskView(view, each)
      return tellEvent(each, view) ?? []
    })
  expect(lines.slice(2).map((line) => line.slice(31))).toEqual([
    'the model call failed (provider_unavailable, try 1): HTTP 503. Next try in 500 ms.',
    'called run_command.',
    'waits until somebody allows run_command: rm -rf build',
    'refused run_command (rm -rf build). Why: Not that folder.',
    'run_command failed (approval_denied): ben denied it.',
  ])
})

test('a daemon takes a task over only from another one', () => {
  const view = newTaskView()
  const claims = ['daemon_a', 'daemon_a', 'daemon_b', 'daemon_a'].map((daemon) =>
    event('task_claimed', { daemon }),
  )
  const lines = log.recorded([...log.teamAtWork.slice(0, 1), ...claims]).map((each) => {
    evolveTaskView(view, each)
    return tellEvent(each, view)?.slice(31) ?? null
  })
  expect(lines.slice(1)).toEqual([null, null, 'took the task over.', 'took the task over.'])
})
