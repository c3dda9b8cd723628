import type { QueryOutput } from '@beaver/contracts'
import { event, type JsonObject } from '@beaver/core'
import { describe, expect, test } from 'vitest'
import { approvalTask } from '../../test/approval-fixture.ts'
import {
  newStream,
  runStarted,
  singleTask,
  submitted,
  teamTask,
  workflowTask,
} from '../../test/journal-fixture.ts'
import { answer } from '../../test/checked-answer.ts'
import { openReadModel } from '../read-model.ts'

async function timelineOf(
  write: (stream: ReturnType<typeof newStream>) => void,
  input: JsonObject = { task_id: 't' },
): Promise<QueryOutput<'timeline'>> {
  const stream = newStream()
  write(stream)
  using model = openReadModel(':memory:', { readBlob: stream.readBlob })
  model.begin('S@1')
  await model.apply(stream.messages)
  return answer(model.sql, 'timeline', input)
}

describe('the timeline', () => {
  test('tells the choice of execution mode as the process projection requires (PP-02, PP-03, PP-05)', async () => {
    const { events } = await timelineOf((stream) => teamTask(stream.log('t')))
    expect(events.find((item) => item['kind'] === 'execution_mode_selected')).toEqual({
      event_id: 't.6',
      node_id: null,
      taskseq: 6,
      run_id: 'root-run',
      parent_run_id: null,
      kind: 'execution_mode_selected',
      actor_type: 'system',
      actor_id: 'main-agent-router',
      actor_name: 'Root agent',
      text: 'Root agent selected Team execution.',
      created_at: '2026-01-01T00:00:00.500Z',
      offset_ms: 500,
      status: 'done',
      metadata: {
        task_id: 't',
        attempt_index: 1,
        execution_mode: 'team',
        routing_source: 'main_agent_first_turn',
        primary_template_skill: 'report',
        ignored_template_skills: ['other'],
        workflow_tool: 'GraphWorkflow',
        timeline_type: 'execution_mode',
      },
    })
  })

  test('names each run and its parent, and says how many nodes a team completed (PP-07)', async () => {
    const { events } = await timelineOf((stream) => teamTask(stream.log('t')))
    expect(
      events.find((item) => item['kind'] === 'run_started' && item['run_id'] === 'run-write'),
    ).toMatchObject({
      parent_run_id: 'root-run',
      actor_name: 'write',
    })
    expect(events.find((item) => item['kind'] === 'task_team_run_failed')).toMatchObject({
      text: 'Team run ended incomplete: 2 of 4 nodes completed; failed: check.',
    })
  })

  test('tells a team that grows, computes, skips, shares and is cancelled in part, as a person would', async () => {
    const { events } = await timelineOf((stream) => workflowTask(stream.log('t')))
    const texts = (kind: string): unknown[] =>
      events.filter((item) => item['kind'] === kind).map((item) => item['text'])
    expect(texts('task_submitted')).toEqual([
      'Task t was submitted as the workflow workflow:map: Map the list',
    ])
    expect(texts('task_team_run_started')).toEqual([
      'Team run started: workflow:map with 6 nodes (4 agents, 1 tool call, 1 computed): split, find, branch, stop, tail, end.',
    ])
    expect(texts('node_computed')).toEqual(['Node split was computed: ["x","y"]'])
    expect(texts('graph_extended')).toEqual(['Team run grew by 2 nodes after split: item-1, item-2.'])
    expect(texts('node_skipped')).toEqual(['Node branch was skipped: The condition does not hold.'])
    expect(texts('node_started')[2]).toBe('Node item-1 started with its own instruction.')
    expect(texts('tool_call_requested')).toEqual(['find calls the tool read_file, as its graph says.'])
    expect(texts('node_cancel_requested')).toEqual(['Node stop is to be cancelled: not needed.'])
    expect(texts('node_blocked')).toEqual(['Node tail is blocked: node stop did not complete.'])
    expect(texts('shared_state_changed').slice(0, 2)).toEqual([
      'item-1 added 1 to seen in the shared state.',
      'item-1 appended to names in the shared state: "item-1"',
    ])
    expect(texts('team_diagnostic_recorded')).toEqual([
      'Node item-1 has a note (unknown_member): Nobody is called z.',
    ])
    expect(events.find((item) => item['kind'] === 'node_skipped')).toMatchObject({
      status: 'skipped',
      actor_type: 'node',
    })
  })

  test('a daemon takes a task over only from another one', async () => {
    const { events } = await timelineOf((stream) => {
      const writer = stream.log('t')
      writer.write(submitted(writer.log))
      for (const daemon of ['d1', 'd1', 'd2']) writer.write(event('task_claimed', { daemon }))
    })
    expect(events.flatMap((item) => (item['kind'] === 'task_claimed' ? [item['text']] : []))).toEqual([
      'Daemon d1 took the task.',
      'Daemon d1 took the task.',
      'Daemon d2 took the task over.',
    ])
  })

  test('a worker of a task without a root agent is told by its own name', async () => {
    const { events } = await timelineOf((stream) => workflowTask(stream.log('t')))
    expect(events.filter((item) => item['actor_name'] === 'Root agent')).toEqual([])
    expect(events.find((item) => item['kind'] === 'run_started')).toMatchObject({
      actor_name: 'find',
      text: 'find started: one call of the tool read_file.',
    })
  })

  test('tells what a person was asked and what the answer was, by the name of the tool', async () => {
    const { events } = await timelineOf((stream) => approvalTask(stream.log('t')))
    const item = (kind: string): JsonObject => events.find((each) => each['kind'] === kind)!
    expect(item('approval_requested')).toMatchObject({
      text: 'Root agent waits until somebody allows run_command: ls -la',
      status: 'waiting',
      metadata: { call_id: 'c1', tool_name: 'run_command', rule: 'run_command' },
    })
    expect(item('approval_granted')).toMatchObject({
      text: 'anna allowed run_command (ls -la).',
      actor_name: 'anna',
      status: 'done',
    })
    expect(item('approval_denied')).toMatchObject({
      text: 'ben refused run_command (rm -rf build). Why: not that folder.',
      status: 'failed',
    })
  })

  test('tells what it cost to choose a skill, and what was left out of a conversation that was too long', async () => {
    const { events } = await timelineOf((stream) => approvalTask(stream.log('t')))
    const text = (kind: string): unknown => events.find((each) => each['kind'] === kind)?.['text']
    expect(text('skill_selection_recorded')).toBe(
      'Root agent chose the skill report, among 2 candidates found by words.',
    )
    expect(text('system_prompt_snapshotted')).toBe(
      'Root agent has its system prompt: 13 characters; its first prompt is about 1,400 tokens.',
    )
    expect(text('context_compacted')).toBe(
      'Root agent had too long a conversation: 1 tool result of 12,000 characters became a reference.',
    )
    expect(text('context_summarized')).toBe(
      'Root agent still had too long a conversation: a summary stands for 3 messages of it.',
    )
    expect(text('provider_call_failed')).toBe(
      'Root agent: the model call to main failed (provider_unavailable, try 1): HTTP 503. The next model of the route is asked at once.',
    )
  })

  test('dates the activation of skills (PP-06, PP-08)', async () => {
    const { events } = await timelineOf((stream) => teamTask(stream.log('t')))
    expect(events.find((item) => item['kind'] === 'skill_activation_snapshotted')).toMatchObject({
      text: 'Root agent has the skill report.',
      created_at: '2026-01-01T00:00:00.300Z',
    })
  })

  test('has one item an event, in order, page by page', async () => {
    const write = (stream: ReturnType<typeof newStream>): void => singleTask(stream.log('t'))
    const first = await timelineOf(write, { task_id: 't', limit: 5 })
    const rest = await timelineOf(write, { task_id: 't', after: first.next })
    expect([...first.events, ...rest.events].map((item) => item['taskseq'])).toEqual(
      Array.from({ length: 11 }, (_, n) => n + 1),
    )
    expect(first.more).toBe(true)
  })

  test('never shows the body of a prompt or of a skill', async () => {
    const { events } = await timelineOf((stream) => (teamTask(stream.log('t')), singleTask(stream.log('u'))))
    expect(JSON.stringify(events)).not.toContain('hidden')
  })

  test('says so when an event has lost its data', async () => {
    const { events } = await timelineOf((stream) => {
      const log = stream.log('t')
      log.write(submitted(log.log, 'x'.repeat(100_000)), runStarted('r'))
      stream.blobs.clear()
    })
    expect(events[0]).toMatchObject({
      kind: 'task_submitted',
      text: 'Event 1 (task_submitted) has lost its data.',
      offset_ms: null,
    })
  })
})
