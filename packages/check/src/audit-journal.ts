// The audit: checks a journal by all rules, and compares it with signed checkpoints. It shares no code with
// what it checks, and needs no running system.
import { ArchiveLog } from './archive-log.ts'
import { type CheckOptions, type CheckResult, checkWithKeys } from './check-journal.ts'
import { type Evidence, type JournalSource, noEvidence } from './source.ts'
import { KeyLog } from './key-log.ts'
import type { Finding, Rule } from './rules.ts'
import { counted, type Known, TreeAudit, type TreeVerdict } from './tree-audit.ts'

export interface AuditOptions extends Omit<CheckOptions, 'operator'> {
  readonly known: Known
}

export interface AuditResult extends CheckResult, TreeVerdict {}

/** These rules compare a task with others, so they say nothing about a part of a journal. */
const rulesOfTheWhole: ReadonlySet<Rule> = new Set([
  'session_chain',
  'session_order',
  'id_claim',
  'task_id_unique',
])

/**
 * Audits a journal or a part of one.
 *
 * @throws {UnreadableJournal} if the source cannot be read at all
 */
export async function auditJournal(
  source: JournalSource,
  { known, ...options }: AuditOptions,
): Promise<AuditResult> {
  const findings: Finding[] = []
  const report = (rule: Rule, message: string, sequence: number | null): void =>
    void findings.push({ rule, task_id: null, session_id: null, taskseq: null, sequence, message })
  const evidence: Evidence = source.evidence ?? noEvidence
  const keys = await KeyLog.read(source)
  const archives = await ArchiveLog.read(source, keys)
  const tree = new TreeAudit(source.about, { evidence, known, ring: keys, archives, report })
  const observed: JournalSource = {
    ...source,
    async *pages() {
      for await (const page of source.pages()) {
        tree.take(page)
        yield page
      }
    },
  }
  const checked = await checkWithKeys(
    observed,
    { keys, archives },
    { ...options, ...(known.operator === undefined ? {} : { operator: known.operator }) },
  )
  const verdict = tree.finish()
  const all = [...checked.findings, ...findings].filter(
    ({ rule }) => source.about.whole || !rulesOfTheWhole.has(rule),
  )
  const broken: Partial<Record<Rule, number>> = { ...checked.broken }
  if (!source.about.whole) for (const rule of rulesOfTheWhole) delete broken[rule]
  for (const { rule } of findings) broken[rule] = (broken[rule] ?? 0) + 1
  const { events, messages, tasks, blobs_verified: blobs } = checked.summary
  const rules = `every rule of the journal (the chain of each log, its epochs and writers, what its events mean): ${counted(events, 'event')}, ${counted(tasks, 'task')}, ${counted(messages, 'message')}`
  const { operator, verified, unsigned } = checked.summary.signatures
  const signed =
    operator === null
      ? []
      : [`the signatures of ${counted(verified, 'message')}, by keys that the operator ${operator} trusts`]
  const before =
    unsigned === 0 || operator === null
      ? []
      : [`who wrote ${counted(unsigned, 'message')} from before the journal had an operator`]
  return {
    ...checked,
    ...verdict,
    findings: all,
    broken,
    checked: [rules, ...signed, `${counted(blobs, 'blob')}, by the hash`, ...verdict.checked],
    not_checked: [...before, ...verdict.not_checked],
  }
}
