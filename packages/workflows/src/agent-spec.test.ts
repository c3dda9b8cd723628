import { expect, it } from 'vitest'
import { findWorkflow } from './registry.ts'

const agent = { name: 'reader', instruction: 'Read.' }
const calls: readonly (readonly [workflow: string, path: string, argsWith: (given: object) => object])[] = [
  [
    'SequentialWorkflow',
    'agents.1',
    (given) => ({ agents: [agent, { name: 'writer', instruction: 'Write.', ...given }] }),
  ],
  [
    'MixtureOfAgents',
    'aggregator',
    (given) => ({ agents: [agent], aggregator: { name: 'all', instruction: 'Merge.', ...given } }),
  ],
  [
    'GraphWorkflow',
    'agents.0',
    (given) => ({ agents: [{ ...agent, ...given }], edges: [], output_agent: 'reader' }),
  ],
]

it.each(calls)('%s: an agent names its model only where the plan allows it', (name, path, argsWith) => {
  const plan = (given: object, modelChoice?: boolean) =>
    findWorkflow(name)?.plan(
      { task: 'Report.', ...argsWith(given) },
      modelChoice === undefined ? {} : { limits: { modelChoice } },
    )
  for (const [field, value] of [
    ['model', 'big'],
    ['model_settings', { temperature: 1 }],
  ] as const) {
    // prettier-ignore
    const refused = { ok: false, error: { code: 'model_not_allowed', path: `${path}.${field}`, message: expect.stringContaining(`"${field}"`) as string } }
    expect(plan({ [field]: value }, false)).toMatchObject(refused)
    expect([plan({ [field]: value }, true)?.ok, plan({ [field]: value })?.ok, plan({}, false)?.ok]).toEqual([
      true,
      true,
      true,
    ])
  }
})
