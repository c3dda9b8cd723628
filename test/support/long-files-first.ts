// The order of the test files. The last file that runs has the machine for itself, so the files that take
// longest begin first, and small ones fill the end. Vitest orders by the times of an earlier run, and by the
// size of a file if there is none; size says little about these files.
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that are small and take long. */
const long = [
  'apps/cli/src/system/start-system.system.test.ts',
  'test/system/daemon-blocked-threads.test.ts',
  'test/system/journal-refused.test.ts',
  'test/system/client-daemon-away.test.ts',
  'test/system/nats-stores.test.ts',
  'test/system/journal-detected.test.ts',
  'test/system/examples.test.ts',
  'packages/agent/src/tools/cell/in-cell.test.ts',
  'packages/knowledge/src/folder-knowledge-base.test.ts',
  'packages/mcp/src/client/start-mcp-servers.test.ts',
  'packages/tools/src/web/web-fetch.test.ts',
  'test/house/docs.test.ts',
]

export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const known = await super.sort(files)
    const rank = ({ moduleId, project }: TestSpecification): number =>
      long.includes(relative(project.vitest.config.root, moduleId)) ? 0 : project.name === 'unit' ? 2 : 1
    return known.toSorted((a, b) => rank(a) - rank(b))
  }
}
