// `beaver kb`: lists the knowledge bases of the configuration, and searches one of them as agents do. It
// needs no running system.
import { BeaverError, type KnowledgeAnswer, type KnowledgePassage, systemClock } from '@beaver/core'
import { endpointsOf } from '@beaver/daemon/model'
import {
  embeddingsOf,
  folderKnowledgeBase,
  type KnowledgeFolder,
  knowledgeFolders,
  type Survey,
  surveyFolder,
  surveyOptions,
} from '@beaver/knowledge'
import { type Config, makeOwnFolder } from '@beaver/platform'
import { contextOf, type GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import type { Screen } from '../screen.ts'
import { bytes, counted } from '../text/figures.ts'
import { oneLine, plainText } from '../text/plain-text.ts'
import { table } from '../text/table.ts'

interface KbOptions {
  readonly limit?: number
  readonly json?: true
}

export async function kb(
  verb: 'list' | 'search',
  words: readonly string[],
  options: KbOptions,
  globals: GlobalOptions,
): Promise<number> {
  const [id, ...query] = words
  if (verb === 'list' && id !== undefined)
    throw new UsageError(`"kb list" takes no id. To search: beaver kb search ${id} <words>`)
  if (verb === 'search' && (id === undefined || query.length === 0))
    throw new UsageError('Name the knowledge base and the words: beaver kb search <id> <words>')
  const { config, screen } = contextOf(globals, 'tools')
  if (verb === 'list') await list(config, options, screen)
  else await search(config, id ?? '', query.join(' '), options, screen)
  return 0
}

interface Listed {
  readonly folder: KnowledgeFolder
  readonly description: string
  /** Whether the documents are strangers' text. */
  readonly untrusted: boolean
  /** What the folder has, or the error if the folder cannot be searched. */
  readonly found: Pick<Survey, 'bytes' | 'documents' | 'leftOut'> | BeaverError
}

async function list(config: Config, options: KbOptions, screen: Screen): Promise<void> {
  const listed: Listed[] = []
  for (const folder of knowledgeFolders(config.knowledge_bases))
    listed.push({
      folder,
      description: config.knowledge_bases[folder.id]?.description ?? '',
      untrusted: config.knowledge_bases[folder.id]?.untrusted ?? false,
      found: await surveyed(folder, config.home),
    })
  for (const { found } of listed) if (found instanceof BeaverError) screen.warn(oneLine(found.message))
  if (options.json === true) screen.json({ knowledge_bases: listed.map(viewOf) })
  else if (listed.length === 0)
    screen.print(
      'There is no knowledge base. Name a folder of documents in "knowledge_bases" of the configuration.',
    )
  else screen.print(...listTable(listed, screen))
}

async function surveyed(folder: KnowledgeFolder, home: string): Promise<Listed['found']> {
  try {
    await using survey = await surveyFolder(folder, surveyOptions(home, systemClock.now()))
    return survey
  } catch (error) {
    if (error instanceof BeaverError) return error
    throw error
  }
}

function viewOf({ folder, description, untrusted, found }: Listed) {
  const known = { id: `kb:${folder.id}`, folder: folder.folder, description, untrusted }
  if (found instanceof BeaverError) return { ...known, error: { code: found.code, message: found.message } }
  return { ...known, documents: found.documents.length, bytes: found.bytes, left_out: found.leftOut }
}

function listTable(listed: readonly Listed[], { columns, style }: Screen): string[] {
  const figure = (
    of: (found: Exclude<Listed['found'], BeaverError>) => string,
  ): ((each: Listed) => string) => {
    return ({ found }) => (found instanceof BeaverError ? '-' : of(found))
  }
  return table<Listed>(
    [
      { title: 'ID', cell: ({ folder }) => `kb:${folder.id}`, paint: style.cyan },
      { title: 'DOCUMENTS', cell: figure((found) => String(found.documents.length)), align: 'right' },
      { title: 'SIZE', cell: figure((found) => bytes(found.bytes)), align: 'right', optional: 2 },
      { title: 'TEXT', cell: ({ untrusted }) => (untrusted ? 'untrusted' : 'own') },
      { title: 'FOLDER', cell: ({ folder }) => oneLine(folder.folder), optional: 1 },
      { title: 'DESCRIPTION', cell: ({ description }) => oneLine(description), flexible: true },
    ],
    listed,
    { width: columns, title: style.dim },
  )
}

async function search(
  config: Config,
  named: string,
  query: string,
  { limit = 5, json }: KbOptions,
  screen: Screen,
): Promise<void> {
  const id = named.replace(/^kb:/, '')
  const folders = knowledgeFolders(config.knowledge_bases)
  const folder = folders.find((each) => each.id === id)
  if (folder === undefined) {
    const known =
      folders.length === 0 ? 'none is configured' : `configured: ${folders.map((each) => each.id).join(', ')}`
    throw new BeaverError('not_found', `There is no knowledge base ${JSON.stringify(id)} (${known}).`)
  }
  makeOwnFolder(config.home, 'knowledge')
  await using base = folderKnowledgeBase(folder, {
    home: config.home,
    embeddings: embeddingsOf(endpointsOf(config)),
    clock: systemClock,
    owner: `${process.pid} ${process.hrtime.bigint()}`,
    tell: (message) => screen.warn(oneLine(message)),
  })
  // The command waits until everything is indexed. An agent does not, so its first searches may find less.
  await base.refresh()
  const answer = await base.search({ query, limit }, new AbortController().signal)
  if (json === true) screen.json(answer)
  else screen.print(...answerLines(answer, { id, query }, screen))
}

function answerLines(
  { passages }: KnowledgeAnswer,
  { id, query }: { readonly id: string; readonly query: string },
  { style }: Screen,
): string[] {
  if (passages.length === 0)
    return [`No passage of kb:${id} is about ${JSON.stringify(oneLine(query, 100))}.`]
  const place = ({ file, first_line, last_line }: KnowledgePassage): string =>
    `${file}:${first_line}-${last_line}`
  return passages.flatMap((passage, at) => [
    ...(at === 0 ? [] : ['']),
    `${style.cyan(oneLine(place(passage)))}${passage.heading === null ? '' : `  ${style.dim(oneLine(passage.heading))}`}`,
    ...plainText(passage.text)
      .split('\n')
      .map((line) => `  ${line}`),
  ])
}

/** One line about the documents of a folder. */
export const surveyText = ({ documents, bytes: size }: Pick<Survey, 'documents' | 'bytes'>): string =>
  `${counted(documents.length, 'document')}, ${bytes(size)}`
