// Writes the report on a folder, in Markdown that is readable in a terminal and on GitHub. Every figure is
// copied from the tools' results.
import type { FileStats, Known, Recount } from './known.ts'
import { bar, code, codeCell, heading, mermaidLabel, prose, table } from './markdown.ts'
import { simulatedModelName } from './simulated-model-name.ts'
import { verdict } from './verdict.ts'

const slicesMax = 8

export function folderReport(known: Known): string {
  const { stats, folder, recount } = known
  if (stats === null) return 'There are no figures to report: no file_stats result was handed on.'
  return [
    heading(1, `Folder report: ${folder?.name ?? stats.folder}`),
    `> Written by Beaver's simulated model (${simulatedModelName}): the sentences follow fixed rules, no language model was asked. Every figure was computed by tools from the files themselves.`,
    heading(2, 'What this folder is'),
    prose(folder?.what_it_is ?? 'No description was handed on.'),
    ...notableFiles(known),
    heading(2, 'Figures'),
    figureTable(stats),
    heading(3, 'Bytes by type'),
    pie(stats),
    ...bars(stats),
    heading(2, 'Largest files'),
    largestFiles(stats),
    heading(2, 'Validation'),
    ...validation(recount),
    ...notes(stats),
  ].join('\n\n')
}

function notableFiles({ folder }: Known): string[] {
  const files = folder?.notable_files ?? []
  return files.length === 0
    ? []
    : [files.map(({ path, note }) => `- ${code(path)} – ${prose(note)}`).join('\n')]
}

function figureTable({ types, totals }: FileStats): string {
  const row = (name: string, of: FileStats['totals'], mark = ''): string[] => [
    name,
    ...[of.files, of.lines, of.words, of.bytes].map((figure) => `${mark}${figure}${mark}`),
  ]
  return table(
    ['Type', 'Files', 'Lines', 'Words', 'Bytes'],
    [...types.map((type) => row(prose(type.type), type)), row('**Total**', totals, '**')],
  )
}

/** A slice is one type. Types without a slice are only in the table, so that no figure is computed here. */
function pie({ types }: FileStats): string {
  const slices = types.filter((type) => type.bytes > 0).slice(0, slicesMax)
  const lines =
    slices.length === 0
      ? ['pie', '    "no bytes" : 1']
      : ['pie showData', ...slices.map(({ type, bytes }) => `    "${mermaidLabel(type)}" : ${bytes}`)]
  return ['```mermaid', ...lines, '```'].join('\n')
}

function bars({ types }: FileStats): string[] {
  const shown = types.filter((type) => type.bytes > 0).slice(0, slicesMax)
  if (shown.length === 0) return []
  const width = Math.max(...shown.map(({ type }) => type.length))
  const lines = shown.map(
    ({ type, bytes_percent: percent }) =>
      `${type.padEnd(width)}  ${bar(percent / 100)} ${percent.toFixed(1).padStart(5)} %`,
  )
  return [['```text', ...lines, '```'].join('\n')]
}

function largestFiles({ largest }: FileStats): string {
  if (largest.length === 0) return 'There are no files.'
  return table(
    ['File', 'Lines', 'Bytes'],
    largest.map(({ path, lines, bytes }) => [codeCell(path), String(lines), String(bytes)]),
  )
}

function validation(recount: Recount | null): string[] {
  if (recount === null) return ['The figures were not counted a second time.']
  const differences = recount.differences.map(
    ({ figure, expected, found }) =>
      `- ${prose(figure)}: file_stats has ${expected}, the second count ${found}`,
  )
  return [
    prose(verdict(recount)),
    ...(differences.length === 0 ? [] : [differences.join('\n')]),
    ...(recount.problems.length === 0
      ? []
      : [`It reported:\n\n${recount.problems.map((problem) => `- ${code(problem)}`).join('\n')}`]),
    'To check by hand:',
    `\`\`\`sh\n${recount.command}\n\`\`\``,
  ]
}

function notes(stats: FileStats): string[] {
  const { ignored, unreadable } = stats
  const lines = [
    ...(ignored.paths.length === 0 ? [] : [`Not entered: ${listed(ignored)}.`]),
    ...(stats.symlinks_not_followed === 0 ? [] : [`Symlinks not followed: ${stats.symlinks_not_followed}.`]),
    ...(unreadable.paths.length === 0 ? [] : [`Could not be read: ${listed(unreadable)}.`]),
    ...(stats.files_with_uncertain_words === 0
      ? []
      : [
          `Files that are not plain text: ${stats.files_with_uncertain_words}. Versions of wc count words in such files differently; the figures are those of GNU wc 9.1.`,
        ]),
  ]
  return lines.length === 0 ? [] : [heading(2, 'Notes'), lines.map((line) => `- ${line}`).join('\n')]
}

const listed = ({ paths, left_out }: { paths: readonly string[]; left_out: number }): string =>
  paths.map(code).join(', ') + (left_out === 0 ? '' : ` and ${left_out} more`)
