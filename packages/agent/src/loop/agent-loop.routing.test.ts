import { memoryHost, rootSpec, says, workerSpec } from '@beaver/testing'
import { isWorkflowTool } from '@beaver/workflows'
import { describe, expect, it, test } from 'vitest'
import { begin, guided, teamResult } from '../../test/loop-kit.ts'
import {
  answerCalling,
  type RoutingCase,
  routingCases,
  routingTable,
  told,
} from '../../test/routing-cases.ts'
import type { AgentProfile } from '../profile/agent-profile.ts'

const bare = {
  name: 'bare',
  description: null,
  systemPrompt: null,
  maxToolIterations: null,
  toolIds: ['system:add'],
} as AgentProfile
const specs: Record<RoutingCase['run'], () => ReturnType<typeof rootSpec>> = {
  routed: () => rootSpec({ part: { skill: 'guided' } }),
  open: () => rootSpec(),
  bare: () => rootSpec({ part: { skill: 'guided', profile: 'bare' } }),
  worker: () => workerSpec({ part: { skill: 'guided' } }),
}

describe('routing and the lock (D-02 to D-06)', () => {
  test.each(routingCases)('$name', async ({ run, answers, follows, offered }) => {
    const host = memoryHost({ runTeam: async () => teamResult })
    const loop = begin({
      replies: [...answers.map(answerCalling), says('done')],
      skills: [guided],
      profiles: [bare],
      spec: specs[run](),
      host,
    })
    expect((await loop.end).status).toBe('completed')
    expect(told(host.events)).toEqual(follows)
    expect(loop.provider.requests.map(({ tools }) => tools.some(({ name }) => isWorkflowTool(name)))).toEqual(
      offered,
    )
    // One result a call, in call order, in what the model reads.
    const last = loop.provider.requests.at(-1)?.messages ?? []
    const called = last.flatMap((message) =>
      message.role === 'assistant' ? (message.tool_calls ?? []).map(({ id }) => id) : [],
    )
    expect(last.flatMap((message) => (message.role === 'tool' ? [message.tool_call_id] : []))).toEqual(called)
  })

  it('the cases can be shown as a table', () =>
    expect(routingTable().split('\n')).toHaveLength(routingCases.length + 2))
})
