// docs/reference/workflows.md, held to what is: its examples are calls that are accepted, its codes the codes there are.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createTeamWorkflowTools, findWorkflow, workflowErrorCodes } from '@beaver/workflows'
import { describe, expect, it } from 'vitest'
import { tableRows } from '../docs/markdown.ts'
import { rules } from '../mutations/table.ts'

const text = readFileSync(fileURLToPath(new URL('../../docs/reference/workflows.md', import.meta.url)), 'utf8')
const sections = text.split(/^## /m).slice(1)
const examples = sections.flatMap((section) => {
  const [name = ''] = section.split('\n')
  return [...section.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, example = '']) => [name, example] as const)
})

describe('docs/reference/workflows.md', () => {
  it('has a section with an example for each workflow tool, and says when to choose it', () => {
    const names = createTeamWorkflowTools().map(({ name }) => name)
    expect(examples.map(([name]) => name)).toEqual(expect.arrayContaining(names))
    const chosen = tableRows(text, ['you have', 'choose']).map((row) => row['choose'])
    for (const name of names) expect(chosen).toContain(`[${name}](#${name.toLowerCase()})`)
  })

  it.each(examples.filter(([name]) => findWorkflow(name) !== null))('%s: the example is accepted', (name, example) => {
    const result = findWorkflow(name)?.plan(JSON.parse(example))
    expect(result?.ok === true ? null : result?.error.message).toBeNull()
  })

  it('lists the codes of refused calls, each with its meaning and what to do', () => {
    const rows = tableRows(text, ['code', 'meaning', 'what to do'])
    expect(rows.map(({ code, meaning }) => ({ code, meaning }))).toEqual(rules.map((code) => ({ code: `\`${code}\``, meaning: workflowErrorCodes[code] })))
    expect(rows.filter((row) => (row['what to do'] ?? '') === '')).toEqual([])
  })
})
