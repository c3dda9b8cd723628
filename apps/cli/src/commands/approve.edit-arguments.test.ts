// `beaver approve --edit` with editors that do different things. Each editor is a shell script.
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AskedCallAnswer } from '@beaver/contracts'
import type { RecordedEvent } from '@beaver/core/journal'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Connection } from '../connection.ts'
import { editedArguments } from './approve.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "beaver's editor "))
  vi.stubEnv('TMPDIR', folder)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

const written = '{"path":"a.md", "size": 1.0}'
async function* log(): AsyncGenerator<RecordedEvent> {
  const calls = (runId: string, text: string): RecordedEvent =>
    ({
      type: 'assistant_message_added',
      runId,
      data: { tool_calls: [{ id: 'c', name: 'write', arguments: text }] },
    }) as unknown as RecordedEvent
  yield calls('other', '{"path":"of another run"}')
  yield calls('r', written)
}
const connection = { client: { events: log } } as unknown as Connection
const call = { run_id: 'r', call_id: 'c' } as unknown as AskedCallAnswer

/** @param script the script of the editor, in which `$1` is the file */
function edited(script: string): Promise<string | undefined> {
  const editor = join(folder, 'editor')
  writeFileSync(editor, `#!/bin/sh\n${script}\n`)
  chmodSync(editor, 0o700)
  vi.stubEnv('VISUAL', `"${editor}"`)
  return editedArguments(connection, { taskId: 't', name: 'c', call }, { edit: true })
}
const filesLeft = (): string[] => readdirSync(folder).filter((name) => name.startsWith('beaver-edit-'))

describe('approve --edit', () => {
  it('gives what the person wrote, from the arguments of this call, in a file of this user alone', async () => {
    expect(
      await edited(
        `cd "$TMPDIR"; stat -c %a "$1" "$(dirname "$1")" > modes; cp "$1" seen; echo '{"path": "b.md"}' > "$1"`,
      ),
    ).toBe('{"path":"b.md"}')
    const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
    expect(read('modes')).toBe('600\n700\n')
    expect(read('seen')).toBe('{\n  "path": "a.md",\n  "size": 1\n}\n')
    expect(filesLeft()).toEqual([])
  })

  it('leaves the arguments as they are if the person changed nothing, or only spaces', async () => {
    expect(await edited('true')).toBeUndefined()
    expect(await edited(`echo '{ "path": "a.md",  "size": 1 }' > "$1"`)).toBeUndefined()
  })

  it.each([
    ['fails', 'exit 1', 'did not end well. Nothing was decided.'],
    ['is killed', 'kill -9 $$', 'did not end well. Nothing was decided.'],
    ['writes broken JSON', `echo '{"path": ' > "$1"`, 'The arguments are not JSON'],
    ['writes nothing', ': > "$1"', 'The arguments are not JSON'],
    ['writes a list', 'echo "[1]" > "$1"', 'The arguments are no JSON object. Nothing was decided.'],
  ])('decides nothing if the editor %s', async (_, script, why) => {
    await expect(edited(script)).rejects.toThrow(why)
    expect(filesLeft()).toEqual([])
  })

  it('decides nothing if there is no such editor, no such call, or arguments are given besides', async () => {
    vi.stubEnv('VISUAL', '')
    vi.stubEnv('EDITOR', '/nowhere/editor')
    await expect(
      editedArguments(connection, { taskId: 't', name: 'c', call }, { edit: true }),
    ).rejects.toThrow('did not end well')
    await expect(
      editedArguments(connection, { taskId: 't', name: 'z', call: null }, { edit: true }),
    ).rejects.toThrow('The journal has no call z of the task t.')
    await expect(
      editedArguments(connection, { taskId: 't', name: 'c', call }, { edit: true, arguments: '{}' }),
    ).rejects.toThrow('Give --arguments or --edit, not both.')
  })
})

describe('approve --arguments', () => {
  const given = (text: string): Promise<string | undefined> =>
    editedArguments(connection, { taskId: 't', name: 'c', call }, { arguments: text })

  it('takes a JSON object, and nothing else', async () => {
    expect(await given(' {"path": "b.md"} ')).toBe('{"path":"b.md"}')
    for (const text of ['', 'path=b.md', '{', '"b.md"', 'null', '[]'])
      await expect(given(text)).rejects.toMatchObject({ code: 'invalid_arguments' })
    expect(await editedArguments(connection, { taskId: 't', name: 'c', call }, {})).toBeUndefined()
  })
})
