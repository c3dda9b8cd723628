// What the tests of skills share: a skill without a file, and folders of skills on disk that go when the test
// file ends.
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll } from 'vitest'
import type { Skill } from '../src/index.ts'

export const skill = (name: string, description: string, over: Partial<Skill> = {}): Skill => ({
  name,
  description,
  body: name,
  sha256: 'x',
  folder: `/skills/${name}`,
  guidance: null,
  modelInvocable: true,
  allowedTools: null,
  license: null,
  compatibility: null,
  ...over,
})

/** Makes folders that are removed in the end. */
export function temporaryFolders(): (files: Record<string, string | Uint8Array>) => Promise<string> {
  const made: string[] = []
  afterAll(() => Promise.all(made.map((folder) => rm(folder, { recursive: true, force: true }))))
  return async (files) => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'beaver-skills-')))
    made.push(folder)
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), content)
    }
    return folder
  }
}
