import { event } from '@beaver/core'
import { describe, expect, test } from 'vitest'
import * as log from '../../test/task-events.ts'
import { type AgentView, heldTools } from './agent-view.ts'
import { agentsOf, askedCalls, elapsedMs, foldView, totalsOf } from './task-view.ts'

const states = (events: Parameters<typeof log.recorded>[0]) =>
  Object.fromEntries(agentsOf(foldView(log.recorded(events))).map((agent) => [agent.name, agent.state]))

describe('the view of a task', () => {
  test('shows the team of the root in declared order, each agent in its state', () => {
    expect(Object.entries(states(log.teamAtWork))).toEqual([
      ['root', 'acting'],
      ['collect', 'completed'],
      ['count', 'acting'],
      ['write', 'waiting'],
    ])
  })

  test('names the tools at work and forgets them when they end', () => {
    const at = foldView(log.recorded(log.teamAtWork))
    expect([...(agentsOf(at)[2]?.tools.values() ?? [])]).toEqual(['file_stats'])
    const after = foldView(log.recorded([...log.teamAtWork, log.result('run_count', 'file_stats', false)]))
    expect(agentsOf(after)[2]).toMatchObject({ state: 'thinking', toolCalls: 1, toolCallsFailed: 1 })
  })

  test('a completed run is not a completed node: the gate has the last word', () => {
    const run = [
      ...log.teamAtWork,
      log.result('run_count', 'file_stats'),
      log.answers('run_count'),
      log.runCompleted('run_count'),
    ]
    expect(states(run)['count']).toBe('finalizing')
    const failed = [
      ...run,
      log.nodeFailed('count', 'The tool recount was not called.'),
      log.nodeBlocked('write', 'count'),
    ]
    expect(states(failed)).toMatchObject({ count: 'failed', write: 'blocked' })
    expect(agentsOf(foldView(log.recorded(failed))).map((agent) => agent.note)).toEqual([
      null,
      null,
      'The tool recount was not called.',
      'by count',
    ])
  })

  test('a call that is tried again is said, until it succeeds', () => {
    const failure = { class: 'rate_limited', message: 'Too many requests.' } as const
    const events = [
      log.submitted(),
      log.runStarted('run_root', 'root'),
      log.told('run_root'),
      event('provider_call_failed', { failure, tries: 1, retry_in_ms: 500, status: 429 }, 'run_root'),
    ]
    expect(agentsOf(foldView(log.recorded(events)))[0]?.note).toBe('Too many requests. (try 2 follows)')
    expect(agentsOf(foldView(log.recorded([...events, log.calls('run_root', 'x')])))[0]?.note).toBeNull()
  })

  test('an agent waits for a person when every call it has open does', () => {
    const asks = (name: string) =>
      event(
        'approval_requested',
        { call_id: `run_root.${name}`, tool_name: name, subject: 's', rule: null },
        'run_root',
      )
    const held = [
      log.submitted(),
      log.runStarted('run_root', 'root'),
      log.told('run_root'),
      log.calls('run_root', 'a', 'b'),
      asks('a'),
    ]
    // A call that has not begun behind one that asks does nothing.
    expect(states(held)['root']).toBe('waiting_for_approval')
    expect(heldTools(agentsOf(foldView(log.recorded(held)))[0] as AgentView)).toEqual(['b'])
    const begun = [
      ...held,
      event('tool_call_started', { call_id: 'run_root.b', tool_name: 'b', idempotent: true }, 'run_root'),
    ]
    expect(states(begun)['root']).toBe('acting')
    const waiting = [...begun, log.result('run_root', 'b')]
    expect(states(waiting)['root']).toBe('waiting_for_approval')
    expect(askedCalls(foldView(log.recorded(waiting)))).toMatchObject([
      { agent: 'root', tool: 'a', callId: 'run_root.a', runId: 'run_root' },
    ])
    const denied = event('approval_denied', { call_id: 'run_root.a', by: 'ben', reason: '' }, 'run_root')
    expect(states([...waiting, denied])['root']).toBe('acting')
    expect(states([...waiting, denied, log.result('run_root', 'a', false)])['root']).toBe('thinking')
    expect(askedCalls(foldView(log.recorded([...waiting, log.ended('task_failed')])))).toEqual([])
  })

  test('sums up what was used, and stops the clock at the end', () => {
    const view = foldView(log.recorded([...log.teamAtWork, log.ended('task_completed')]))
    expect(totalsOf(view)).toEqual({ agents: 3, toolCalls: 3, tokens: 4000 })
    expect(view.status).toBe('completed')
    expect(elapsedMs(view, Number.MAX_SAFE_INTEGER)).toBe(log.teamAtWork.length * log.stepMs)
  })

  test('a node of a task without a root agent is no root, and only agents are counted as agents', () => {
    const view = foldView(log.recorded(log.workflowAtWork))
    expect(view.root).toBeNull()
    expect(agentsOf(view).map((node) => [node.name, node.kind, node.state])).toEqual([
      ['split', 'code', 'completed'],
      ['item', 'agent', 'waiting'],
      ['find', 'tool', 'acting'],
      ['branch', 'agent', 'skipped'],
      ['broken', 'code', 'failed'],
      ['behind', 'agent', 'blocked'],
      ['end', 'agent', 'waiting'],
    ])
    expect(totalsOf(view)).toMatchObject({ agents: 0, toolCalls: 1 })
  })

  test("a team's run without a parent is no root, also when its node is not known", () => {
    const stray = log.runStarted('run_x', 'x', 'x')
    const orphan = { ...stray, data: { ...stray.data, parent_run_id: null } } as typeof stray
    expect(foldView(log.recorded([log.submitted(), orphan])).root).toBeNull()
  })

  test('a tool node has done its call when its result is there; the gate has the last word', () => {
    const after = [...log.workflowAtWork, log.result('run_find', 'file_stats')]
    expect(states(after)['find']).toBe('finalizing')
    expect(states([...after, log.nodeCompleted('find')])['find']).toBe('completed')
  })

  test('a node that is to be cancelled says why until it is', () => {
    const asked = [...log.teamAtWork, log.nodeCancelRequested('count', 'enough')]
    expect(agentsOf(foldView(log.recorded(asked)))[2]).toMatchObject({
      state: 'acting',
      note: 'to be cancelled: enough',
    })
    expect(
      agentsOf(foldView(log.recorded([...asked, log.nodeCancelled('count', 'enough')])))[2],
    ).toMatchObject({ state: 'cancelled', note: 'enough' })
  })

  test('the same events give the same view', () => {
    expect(foldView(log.recorded(log.teamAtWork))).toEqual(foldView(log.recorded(log.teamAtWork)))
  })
})
