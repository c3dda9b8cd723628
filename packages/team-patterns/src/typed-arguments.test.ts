// The types for programs say the same as the schemas. `tsc` judges them.
import { addWorkflows, taskWorkflowNames, type Written } from '@beaver/workflows'
import { expect, expectTypeOf, it } from 'vitest'
import type { z } from 'zod'
import type { TeamConfigurationInput, teamConfiguration } from './agent-team/configuration.ts'
import { teamPatterns } from './team-patterns.ts'
import type { KnownWorkflowArguments } from './typed-arguments.ts'

/** What zod takes when no member is a name alone. */
type Spelled = Written<z.input<typeof teamConfiguration>>
type People = 'members' | 'coordinator' | 'coordinator_role'
/** Its schema does not say that it takes JSON. */
type Free = 'shared_state'

it('a team has in TypeScript the fields that are read, and no others', () => {
  expectTypeOf<keyof TeamConfigurationInput>().toEqualTypeOf<keyof Spelled>()
  expectTypeOf<Omit<Spelled, Free>>().toExtend<Omit<TeamConfigurationInput, Free>>()
  expectTypeOf<Omit<TeamConfigurationInput, People>>().toExtend<Omit<Spelled, People>>()
  type Member = Exclude<TeamConfigurationInput['members'][number], string>
  expectTypeOf<Member>().toEqualTypeOf<Spelled['members'][number]>()
  expectTypeOf<Exclude<TeamConfigurationInput['coordinator'], string>>().toEqualTypeOf<Member | undefined>()
})

it('each workflow that comes with Beaver has typed arguments', () => {
  addWorkflows(teamPatterns)
  const names: Record<keyof KnownWorkflowArguments, true> = {
    SequentialWorkflow: true,
    ConcurrentWorkflow: true,
    MixtureOfAgents: true,
    AgentRearrange: true,
    GraphWorkflow: true,
    GroupChat: true,
    HierarchicalWorkflow: true,
    MajorityVote: true,
    AgentTeam: true,
  }
  expect(taskWorkflowNames().toSorted()).toEqual(Object.keys(names).toSorted())
})
