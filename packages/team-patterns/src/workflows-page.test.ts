// docs/reference/workflows.md, held to what is: every call it shows is accepted.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { errorOf, graphOf, play, scripted } from '@beaver/testing'
import { addedWorkflowTools, createTeamWorkflowTools, findTaskWorkflow } from '@beaver/workflows'

const page = readFileSync(new URL('../../../docs/reference/workflows.md', import.meta.url), 'utf8')
const calls = page.split(/^## /m).flatMap((section): [string, unknown][] => {
  const name = section.split('\n')[0] ?? ''
  return findTaskWorkflow(name) === null
    ? []
    : [...section.matchAll(/^```json\n([\s\S]*?)^```/gm)].map((match) => [name, JSON.parse(match[1] ?? '')])
})

describe('docs/reference/workflows.md', () => {
  it('names every workflow in the table of what to choose', () => {
    for (const { name } of [...createTeamWorkflowTools(), ...addedWorkflowTools()])
      expect(page).toMatch(new RegExp(`\\| \\[?${name}\\b`))
  })

  it('shows a call of each workflow it explains', () => {
    expect(calls.map(([name]) => name)).toEqual(
      expect.arrayContaining(['GroupChat', 'HierarchicalWorkflow', 'MajorityVote', 'AgentTeam']),
    )
  })

  it.each(calls)('the call of %s is accepted, and its team ends', (name, args) => {
    const workflow = findTaskWorkflow(name)
    if (workflow === null) return expect.fail(name)
    expect(play(graphOf(workflow.plan(args)), scripted({})).team.outcome).not.toBeNull()
    expect(errorOf(workflow.plan({ ...(args as object), nonsense: 1 })).path).toBe('nonsense')
  })
})
