import { permissionOf } from '@beaver/agent/tool-kit'
import { expect, it } from 'vitest'
import { fileStats } from './file-stats.ts'
import { listFiles } from './list-files.ts'
import { readFile } from './read-file.ts'
import { recountFiles } from './recount-files.ts'

it.each([readFile, listFiles, fileStats, recountFiles])(
  'a rule about a path decides about $name, however the path is spelled',
  (tool) => {
    const rules = [
      { tool: '*', pattern: '*.env', decision: 'deny' as const },
      { tool: '*', pattern: 'private/*', decision: 'deny' as const },
    ]
    const paths = ['.env', './/a/./b.env', './private//key', 'App/.ENV', 'PRIVATE/key', 'notes.md']
    expect(paths.map((path) => permissionOf(tool, { path }, rules).decision)).toEqual([
      'deny',
      'deny',
      'deny',
      'deny',
      'deny',
      'allow',
    ])
  },
)
