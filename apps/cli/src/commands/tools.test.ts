import type { CatalogEntry } from '@beaver/agent'
import { describe, expect, test } from 'vitest'
import { styleOf } from '../text/style.ts'
import { textWidth } from '../text/width.ts'
import { toolsTable } from './tools.ts'

const entry = (id: string, kind: CatalogEntry['kind'], description: string): CatalogEntry => ({
  id,
  kind,
  schema: { name: id, description, parameters: {} },
})
const entries = [
  entry('system:read_file', 'tool', 'Reads a file.\nAnd says so at length, '.repeat(10)),
  entry('system:HierarchicalWorkflow', 'team_workflow', 'A manager delegates. '.repeat(20)),
  entry(`workflow:${'long_'.repeat(8)}`, 'workflow', '对提供的长文本进行摘要。'.repeat(20)),
]

describe('the table of tools', () => {
  test.each([60, 80, 100, 200])('fits %i columns, with every id whole', (columns) => {
    const lines = toolsTable(entries, { columns, style: styleOf(false) })
    expect(lines.map((line) => textWidth(line)).filter((width) => width > columns)).toEqual([])
    for (const [i, { id }] of entries.entries()) expect(lines[i + 1]).toContain(id)
  })

  test('is one line a tool, whatever its description holds', () => {
    const lines = toolsTable([entry('workflow:x', 'workflow', 'one\ntwo\u001B[31m')], {
      columns: Infinity,
      style: styleOf(false),
    })
    expect(lines).toEqual(['ID          KIND      DESCRIPTION', 'workflow:x  workflow  one two'])
  })
})
