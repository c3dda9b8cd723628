import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { newStream, singleTask, tempFolder } from '../../test/journal-fixture.ts'
import { openReadModel } from '../read-model.ts'
import { schemaVersion } from './schema.ts'
import { sqlOn } from './sql.ts'

const readBlob = newStream().readBlob

function altered(file: string, statements: string): void {
  const db = new DatabaseSync(file)
  db.exec(statements)
  db.close()
}

/** Builds a read model in a file; returns the stream that it is built from. */
async function builtFrom(file: string) {
  const stream = newStream()
  singleTask(stream.log('task-1'))
  using model = openReadModel(file, { readBlob })
  model.begin('S@1')
  await model.apply(stream.messages)
  return stream
}

describe('a file', () => {
  test('of a newer Beaver is refused, with what to do', () => {
    using folder = tempFolder()
    const file = folder.file('read.db')
    openReadModel(file, { readBlob }).close()
    altered(file, `pragma user_version = ${schemaVersion + 1}`)
    expect(() => openReadModel(file, { readBlob })).toThrow(
      expect.objectContaining({
        code: 'invalid_configuration',
        message: expect.stringContaining('Use the newer Beaver, or delete the file'),
      }),
    )
  })

  test('of an older Beaver is emptied and built again from the start', async () => {
    using folder = tempFolder()
    const file = folder.file('read.db')
    const stream = await builtFrom(file)
    altered(file, `pragma user_version = ${schemaVersion - 1}; create table obsolete (x)`)
    using model = openReadModel(file, { readBlob })
    expect(model.begin('S@1')).toBe(0)
    expect(model.sql.all("select name from sqlite_schema where name = 'obsolete'")).toEqual([])
    expect(await model.apply(stream.messages)).toMatchObject({ messages: stream.messages.length })
  })

  test('of another program is refused and left alone', () => {
    using folder = tempFolder()
    const file = folder.file('mine.db')
    altered(file, 'create table precious (x); insert into precious values (1)')
    expect(() => openReadModel(file, { readBlob })).toThrow(
      expect.objectContaining({ code: 'invalid_configuration' }),
    )
    using db = new DatabaseSync(file)
    expect(db.prepare('select x from precious').get()).toEqual({ x: 1 })
  })

  test('that is damaged is named with what to do, when it is opened and when it is read', async () => {
    using folder = tempFolder()
    const file = folder.file('read.db')
    await builtFrom(file)
    const pages = readFileSync(file)
    const damaged = {
      code: 'wrong_state',
      message: expect.stringMatching(
        /^The read model .*read\.db is damaged: .*\. Delete the file while Beaver is stopped/,
      ),
    }
    writeFileSync(file, 'no database at all')
    expect(() => openReadModel(file, { readBlob })).toThrow(expect.objectContaining(damaged))
    // The first page, which has the schema, is whole.
    const size = pages.readUInt16BE(16)
    writeFileSync(file, Buffer.concat([pages.subarray(0, size), Buffer.alloc(pages.length - size, 1)]))
    using snapshot = new DatabaseSync(file, { readOnly: true })
    const sql = sqlOn(snapshot)
    expect(() => sql.all('select * from events')).toThrow(expect.objectContaining(damaged))
    expect(() => [...sql.each('select * from events')]).toThrow(expect.objectContaining(damaged))
    expect(() => openReadModel(file, { readBlob })).toThrow(expect.objectContaining(damaged))
  })

  test('in a folder that is not there is a clear error', () => {
    expect(() => openReadModel('/nowhere/at/all/read.db', { readBlob })).toThrow(
      expect.objectContaining({
        code: 'start_failed',
        message: expect.stringContaining('/nowhere/at/all/read.db'),
      }),
    )
  })

  test('can be opened and closed again and again', async () => {
    using folder = tempFolder()
    for (let i = 0; i < 3; i++) {
      await using model = openReadModel(folder.file('read.db'), { readBlob })
      expect(model.begin('S@1')).toBe(0)
      model.close()
    }
  })
})
