// What TypeScript accepts as a task and as a team, and what becomes of it. `tsc` judges the types.
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { AgentTeam } from './agent-team.ts'
import type { BeaverClient } from './beaver-client.ts'
import type { ArgumentsOf, TaskOptions } from './index.ts'
import { typedTask } from './task-input.ts'

declare module './index.ts' {
  interface WorkflowArguments {
    'workflow:sum_up': { readonly text: string }
  }
}

const nobody = {} as BeaverClient
const agents = [{ name: 'a', instruction: 'Draft.' }] as const

describe('the configuration of an AgentTeam', () => {
  it('with a misspelt field does not compile, and is refused', () => {
    // @ts-expect-error: there is no `strategie` and no `agentz`
    expect(() => new AgentTeam(nobody, { strategie: 'broadcast', agentz: [] })).toThrow(/members/)
    // @ts-expect-error: there is no strategy `voting`
    expect(() => new AgentTeam(nobody, { strategy: 'voting', members: ['a'] })).toThrow(/strategy/)
    // @ts-expect-error: there is no field `instructions` of a member
    expect(() => new AgentTeam(nobody, { members: [{ name: 'a', instructions: 'x' }] })).toThrow()
    const team = { strategy: 'broadcast', members: ['a', { name: 'b', allowed_tool_names: ['x'] }] } as const
    expect(new AgentTeam(nobody, team).configuration.members.map(({ name }) => name)).toEqual(['a', 'b'])
  })

  it('takes the options of a task', () => {
    const task = new AgentTeam(nobody, { members: ['a'] }).task('Go.', {
      workspaceDir: '/old',
      userId: 'ann',
      budget: { usd: 1 },
    })
    expect(task).toEqual({
      workflow: { name: 'AgentTeam', arguments: { members: [{ name: 'a' }], message: 'Go.' } },
      workspace: '/old',
      user_id: 'ann',
      budget: { usd: 1 },
    })
  })
})

describe('a task', () => {
  it('of a known workflow compiles with its arguments only', () => {
    const graph = typedTask({
      workflow: 'GraphWorkflow',
      arguments: { task: 'Plan.', agents, edges: [], output_agent: 'a' },
    })
    expect(graph.workflow?.arguments).toEqual({ task: 'Plan.', agents, edges: [], output_agent: 'a' })
    // @ts-expect-error: `agentz` is no field of GraphWorkflow
    typedTask({ workflow: 'GraphWorkflow', arguments: { task: 'Plan.', agentz: [] } })
    // @ts-expect-error: the same in the fields of the wire
    typedTask({ workflow: { name: 'GraphWorkflow', arguments: { task: 'Plan.' } } })
    const half = { task: '', agents, edges: [['a']], output_agent: 'a' } as const
    // @ts-expect-error: an edge has two ends
    typedTask({ workflow: 'GraphWorkflow', arguments: half })
    typedTask({ workflow: 'MajorityVote', arguments: { task: 'Vote.', agents, options: ['yes', 'no'] } })
    // @ts-expect-error: votes is a number
    typedTask({ workflow: 'MajorityVote', arguments: { task: 'Vote.', votes: 'five' } })
  })

  it('of a workflow of the program has the arguments that the program declares', () => {
    typedTask({ workflow: 'workflow:sum_up', arguments: { text: 'Tides.' } })
    // @ts-expect-error: the program declared `text`
    typedTask({ workflow: 'workflow:sum_up', arguments: { words: 'Tides.' } })
    expectTypeOf<ArgumentsOf<'workflow:sum_up'>>().toEqualTypeOf<{ readonly text: string }>()
  })

  it('of a workflow that nobody declared, or whose name is not known here, takes any object', () => {
    typedTask({ workflow: 'workflow:other', arguments: { anything: 1 } })
    const name: string = 'GraphWorkflow'
    typedTask({ workflow: name, arguments: JSON.parse('{}') as Record<string, unknown> })
    expectTypeOf<ArgumentsOf<string>>().toEqualTypeOf<Readonly<Record<string, unknown>>>()
  })

  it('gets every option in the field of the wire', () => {
    const options: Required<TaskOptions<number>> = {
      output: z.number(),
      sessionId: 's',
      taskId: 't',
      workspace: '/w',
      skill: 'k',
      skills: ['k'],
      profile: 'p',
      model: 'm',
      modelSettings: { temperature: 0 },
      source: 'cron',
      title: 'T',
      userId: 'ann',
      timeZone: 'UTC',
      approvals: 'wait',
      budget: { usd: 1 },
      stream: true,
    }
    const { output, ...fields } = typedTask('Count.', options)
    expect(output).toBe(options.output)
    expect(fields).toEqual({
      task: 'Count.',
      session_id: 's',
      task_id: 't',
      workspace: '/w',
      skill: 'k',
      skills: ['k'],
      profile: 'p',
      model: 'm',
      model_settings: { temperature: 0 },
      source: 'cron',
      title: 'T',
      user_id: 'ann',
      time_zone: 'UTC',
      approvals: 'wait',
      budget: { usd: 1 },
      stream: true,
    })
  })

  it('keeps a field of the wire that no option replaces', () => {
    const wire = { task: 'Say.', session_id: 's', title: 'old', instructions: 'Be brief.' }
    expect(typedTask(wire, { title: 'new', sessionId: undefined })).toEqual({ ...wire, title: 'new' })
  })
})
