import { says, workerSpec } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { begin } from '../../test/loop-kit.ts'
import { skill } from '../../test/skill-kit.ts'
import { assembleSkill } from './activation.ts'

const skills = [
  skill('web-research', 'Searches the web and fetches official pages and filings.'),
  skill('table-layout', 'Lays out Markdown tables with units and currencies.'),
  skill('财务指标', '从公告中提取财务指标，统一口径。'),
  skill('team-report', 'Official filings, web search, Markdown tables.', {
    guidance: { version: 1, preferred_tool: 'SequentialWorkflow', agents: [{ name: 'a', instruction: 'x' }] },
  }),
]

describe('the skill for a query', () => {
  it.each([
    ['official web filings', 'web-research'],
    ['Markdown table', 'table-layout'],
    ['提取财务指标', '财务指标'],
    ['WEB RESEARCH', 'web-research'],
  ])('%s is %s', (query, name) => expect(assembleSkill(query, skills)?.name).toBe(name))

  it.each([
    '',
    'the of and',
    'write a poem about the sea',
    'currencies of the Middle Ages in France',
    '足球比赛',
  ])('%j has none', (query) => expect(assembleSkill(query, skills)).toBeNull())

  it('is the first of equals, and never one that guides a team or that models may not invoke', () => {
    expect(assembleSkill('web', [skill('a', 'web'), skill('b', 'web')])?.name).toBe('a')
    expect(assembleSkill('Official filings web search Markdown tables', skills.slice(3))).toBeNull()
    expect(assembleSkill('web', [skill('a', 'web', { modelInvocable: false })])).toBeNull()
  })
})

describe('a worker (D-40)', () => {
  it.each([
    [
      'the named skill wins over the query',
      { skill: 'table-layout', skillQuery: 'official web filings' },
      ['table-layout'],
    ],
    ['the query finds one', { skillQuery: 'official web filings' }, ['web-research']],
    ['a query that fits nothing brings none', { skillQuery: 'poems' }, []],
    ['without either it has none', {}, []],
  ])('%s', async (_, part, names) => {
    const loop = begin({ replies: [says('done')], skills, spec: workerSpec({ part }) })
    await loop.end
    const activated = loop.host.events.flatMap((event) =>
      event.type === 'skill_activation_snapshotted' ? event.data.skills.map(({ name }) => name) : [],
    )
    expect(activated).toEqual(names)
  })
})
