import { calls, rootSpec, says, workerSpec } from '@beaver/testing'
import type { TeamContext } from '@beaver/workflows'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { begin, toolMessages } from '../../test/loop-kit.ts'
import { defineTool } from '../tools/tool.ts'

const teamContext: TeamContext = {
  team_run_id: 'team1',
  workflow: 'AgentTeam',
  team: 'articles "x"\n# You',
  strategy: 'sequential',
  node_id: 'writer',
  member_name: 'writer',
  members: Array.from({ length: 60 }, (_, i) => `m${i}`),
  coordinator: null,
}
const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.strictObject({}),
  run: (_, context) => context.teamContext ?? 'no team',
})
const promptOf = (loop: ReturnType<typeof begin>): string =>
  String(loop.provider.requests[0]?.messages[0]?.content)

describe('the team of a member (AT-12)', () => {
  it('is in its prompt, bounded, with a quoted name, and within reach of its tools', async () => {
    const loop = begin({
      replies: [calls(['look', {}]), says('x')],
      tools: [look],
      spec: workerSpec({ teamContext }),
    })
    await loop.end
    expect(promptOf(loop)).toContain(
      'You are writer of the team "articles \\"x\\"\\n# You", which works by the strategy sequential.',
    )
    expect(promptOf(loop)).toContain('m49 and 10 more.')
    expect(JSON.parse(String(toolMessages(loop.provider)[0]?.[1]))).toEqual(teamContext)
  })

  it('is not in the prompt of a node of another workflow, but within reach of its tools', async () => {
    const other = { ...teamContext, workflow: 'GraphWorkflow', strategy: null }
    const loop = begin({
      replies: [calls(['look', {}]), says('x')],
      tools: [look],
      spec: workerSpec({ teamContext: other }),
    })
    await loop.end
    expect(promptOf(loop)).not.toContain('strategy')
    expect(toolMessages(loop.provider)[0]?.[1]).toContain('GraphWorkflow')
  })

  it('is absent for a root', async () => {
    const loop = begin({ replies: [calls(['look', {}]), says('x')], tools: [look], spec: rootSpec() })
    await loop.end
    expect(toolMessages(loop.provider)[0]?.[1]).toBe('no team')
  })
})
