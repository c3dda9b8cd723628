// Folders with documents, and knowledge bases on them. All are removed after the test.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { systemClock } from '@beaver/core'
import { onTestFinished } from 'vitest'
import {
  type FolderKnowledgeBase,
  folderKnowledgeBase,
  type KnowledgeFolder,
  type KnowledgePorts,
} from '../src/index.ts'

export interface KnowledgePlaces {
  readonly folder: string
  readonly home: string
  write(file: string, content: string | Uint8Array): Promise<void>
}

export async function knowledgePlaces(): Promise<KnowledgePlaces> {
  const root = await mkdtemp(join(tmpdir(), 'beaver-kb-'))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  const folder = join(root, 'documents')
  await mkdir(folder)
  return {
    folder,
    home: join(root, 'home'),
    async write(file, content) {
      await mkdir(dirname(join(folder, file)), { recursive: true })
      await writeFile(join(folder, file), content)
    },
  }
}

let owners = 0

/**
 * A knowledge base as another process would open it. Its searches wait until the folder is indexed, however
 * long this takes.
 */
export function opened(
  { folder, home }: Pick<KnowledgePlaces, 'folder' | 'home'>,
  ports: Partial<KnowledgePorts> & { readonly of?: Partial<KnowledgeFolder> } = {},
): FolderKnowledgeBase {
  const { of, bounds, ...rest } = ports
  const base = folderKnowledgeBase(
    { id: 'handbook', folder, embeddings: true, fileBytesMax: 10_485_760, ...of },
    {
      home,
      embeddings: null,
      clock: systemClock,
      owner: `test ${++owners}`,
      bounds: { waitMs: 3_600_000, ...bounds },
      ...rest,
    },
  )
  onTestFinished(() => base[Symbol.asyncDispose]())
  return base
}

export const never: AbortSignal = new AbortController().signal
