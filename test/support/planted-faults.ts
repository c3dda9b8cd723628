// Faults to plant in a recorded journal, each with the one rule that must see it. A fault is planted in an
// export whose chains are sealed and whose messages are signed anew afterwards, unless it is a fault of the
// form itself.
import { createHash } from 'node:crypto'
import type { Rule } from '@beaver/check'
import { canonicalJson, type KeyStore } from '@beaver/core'
import {
  at,
  type At,
  type LooseExport,
  type LooseMessage,
  type LooseRecord,
  wire,
} from './recorded-journal.ts'
import { signatureFaults } from './planted-signatures.ts'

export interface PlantedFault {
  readonly name: string
  readonly rule: Rule
  readonly plant?: (journal: LooseExport) => void
  /** The messages that keep their signatures. */
  readonly keeps?: (message: LooseMessage) => boolean
  /** Changes what is sealed and signed already. */
  readonly forge?: (journal: LooseExport, keys: KeyStore) => void
  /** `as it stands`: nothing is numbered or chained anew. `chains`: the messages keep their numbers. */
  readonly seal?: 'as it stands' | 'chains'
}

const team = (journal: LooseExport): string =>
  at(journal, grown(journal), 'task_team_run_started').record.subject
/** The task whose graph grew. */
const grown = ({ messages }: LooseExport): string =>
  messages.flatMap(({ records }) => records ?? []).find(({ type }) => type === wire('graph_extended'))
    ?.subject ?? ''

const change = (...[journal, task, type, nth]: Parameters<typeof at>): LooseRecord =>
  at(journal, task, type, nth).record
const remove = (...where: Parameters<typeof at>): void => {
  const { message, records, index } = at(...where)
  records.splice(index, 1)
  if (records.length === 0) where[0].messages.splice(where[0].messages.indexOf(message), 1)
}
/** Puts a copy of an event behind it, changed. */
const repeat = (where: Parameters<typeof at>, edit: Partial<LooseRecord> = {}): LooseRecord => {
  const { records, index, record } = at(...where)
  const copy = { ...structuredClone(record), ...edit }
  records.splice(index + 1, 0, copy)
  return copy
}
const swap = (one: At, other: At): void => {
  one.records[one.index] = other.record
  other.records[other.index] = one.record
}
/** The verdict at a place of a list of them. */
const checkOf = ({ data }: LooseRecord, list: 'checks' | 'evidence', index: number) =>
  (data[list] as { requirement: Record<string, unknown>; status: string }[])[index] ?? {
    requirement: {},
    status: '',
  }

const otherDaemon = '/beaver/daemons/somebody'
/** As another message of the log at the end of the stream. */
const message = (journal: LooseExport, like: LooseMessage, payload: string): LooseMessage => {
  const added = {
    ...like,
    seq: journal.messages.length + 1,
    subject: like.subject.replace(/accepted$/, 'events'),
    records: null,
    payload,
  }
  journal.messages.push(added)
  journal.header['last_sequence'] = journal.messages.length
  return added
}

export const plantedFaults: readonly PlantedFault[] = [
  // The form of the record.
  {
    name: 'a text is changed after it was written',
    rule: 'hash',
    seal: 'as it stands',
    plant: (j) => (change(j, 'loop', 'user_message_added').data.content = 'other'),
  },
  {
    name: 'a record is taken out of an entry',
    rule: 'taskseq',
    seal: 'as it stands',
    plant: (j) => remove(j, 'loop', 'system_prompt_snapshotted'),
  },
  {
    name: 'a record names another predecessor, and has the hash for it',
    rule: 'chain',
    seal: 'as it stands',
    plant: (j) => {
      const record = change(j, 'loop', 'task_completed')
      record.prevhash = 'a'.repeat(64)
      const { hash: _, ...hashed } = record
      record.hash = createHash('sha256').update(canonicalJson(hashed)).digest('hex')
    },
  },
  {
    name: 'an entry is written with white space',
    rule: 'canonical',
    seal: 'as it stands',
    plant: (j) => {
      const found = at(j, 'one', 'task_completed').message
      found.payload = JSON.stringify(found.records, null, 1)
      found.records = null
    },
  },
  {
    name: 'an entry is no batch',
    rule: 'entry',
    plant: (j) => void message(j, at(j, 'one', 'task_completed').message, '{"half": '),
  },
  {
    name: 'a message is taken out of the stream',
    rule: 'stream_gap',
    seal: 'chains',
    plant: (j) => remove(j, 'cancelled', 'task_cancel_requested'),
  },
  { name: 'an export ends early', rule: 'export', seal: 'as it stands', plant: (j) => void j.messages.pop() },
  {
    name: 'a message lies under a subject of nothing',
    rule: 'subject',
    plant: (j) => (message(j, at(j, 'one', 'task_completed').message, '[]').subject = 'beaver.x.log.y'),
  },
  {
    name: 'a later entry lies where the acceptance lies',
    rule: 'subject',
    plant: (j) =>
      (at(j, 'one', 'task_completed').message.subject = at(j, 'one', 'task_submitted').message.subject),
  },
  { name: 'a blob is gone', rule: 'blob_missing', plant: (j) => void j.blobs.shift() },
  {
    name: 'a blob has other content',
    rule: 'blob_changed',
    plant: (j) => ((j.blobs[0] as { base64: string }).base64 = Buffer.from('{}').toString('base64')),
  },
  {
    name: 'an event has a type nobody knows',
    rule: 'event_type',
    plant: (j) => (change(j, 'loop', 'system_prompt_snapshotted').type = wire('task_paused')),
  },
  {
    name: 'an event lacks a member',
    rule: 'event_data',
    plant: (j) => delete change(j, 'loop', 'tool_call_started').data.call_id,
  },

  ...signatureFaults,

  // Who writes.
  {
    name: 'the epoch falls',
    rule: 'epoch',
    plant: (j) => (change(j, 'taken over', 'task_completed').epoch = 1),
  },
  {
    name: 'the epoch rises without a claim',
    rule: 'epoch',
    plant: (j) => (change(j, 'one', 'task_completed').epoch = 2),
  },
  {
    name: 'a claim has the epoch of an earlier one',
    rule: 'claim',
    plant: (j) => {
      for (const { subject, records } of j.messages)
        if (/taken/.test(subject))
          for (const record of records ?? []) record.epoch = Math.min(1, record.epoch)
    },
  },
  {
    name: 'a daemon claims in the name of another',
    rule: 'claim',
    plant: (j) => (change(j, 'one', 'task_claimed').data.daemon = 'somebody'),
  },
  {
    name: 'the daemon that lost the task writes on',
    rule: 'source',
    plant: (j) =>
      (change(j, 'taken over', 'run_completed').source = change(j, 'taken over', 'task_claimed').source),
  },
  {
    name: 'the owner writes on after another daemon wrote',
    rule: 'source',
    plant: (j) => (change(j, 'cancelled', 'task_cancel_requested').source = otherDaemon),
  },
  {
    name: 'a daemon writes on after it released the task',
    rule: 'unowned',
    plant: (j) =>
      void repeat([j, 'one', 'user_message_added'], {
        type: wire('task_released'),
        data: { daemon: 'd', reason: 'r' },
      }),
  },
  {
    name: 'a daemon writes on after it suspended the task',
    rule: 'unowned',
    plant: (j) => {
      const { runid = '' } = change(j, 'suspended', 'approval_requested')
      repeat([j, 'suspended', 'task_suspended'], {
        type: wire('context_compacted'),
        runid,
        data: { results: [] },
      })
    },
  },
  {
    name: 'a task lies in the log of another session',
    rule: 'identity',
    plant: (j) => (change(j, 'one', 'task_submitted').data.session_id = 'other'),
  },
  {
    name: 'a task is submitted twice',
    rule: 'first_event',
    plant: (j) => void repeat([j, 'one', 'task_submitted']),
  },
  {
    name: 'a log begins without a submission',
    rule: 'first_event',
    plant: (j) => remove(j, 'loop', 'task_submitted'),
  },

  // The end of a task.
  {
    name: 'a second, well-chained terminal event',
    rule: 'terminal_once',
    plant: (j) => (repeat([j, 'one', 'task_completed']).data.final_output = 'forged'),
  },
  {
    name: 'an event follows the terminal event',
    rule: 'after_end',
    plant: (j) =>
      void repeat([j, 'one', 'task_completed'], {
        type: wire('task_cancel_requested'),
        data: { reason: 'late' },
      }),
  },
  {
    name: 'a task ends and its run does not',
    rule: 'open_at_end',
    plant: (j) => remove(j, 'loop', 'run_completed'),
  },
  {
    name: 'a task ends and its team does not',
    rule: 'open_at_end',
    plant: (j) => remove(j, 'team', 'task_team_run_completed'),
  },

  // Runs and answers.
  { name: 'a run starts twice', rule: 'run_once', plant: (j) => void repeat([j, 'one', 'run_started']) },
  { name: 'a run ends twice', rule: 'run_end_once', plant: (j) => void repeat([j, 'one', 'run_completed']) },
  {
    name: 'a run goes on after its end',
    rule: 'run_after_end',
    plant: (j) =>
      void repeat([j, 'one', 'run_completed'], {
        type: wire('user_message_added'),
        data: { content: 'more' },
      }),
  },
  {
    name: 'a run has events and no start',
    rule: 'run_unstarted',
    plant: (j) => remove(j, 'one', 'run_started'),
  },
  {
    name: 'an answer is asked for again',
    rule: 'answer_once',
    plant: (j) => (repeat([j, 'one', 'assistant_message_added']).data.content = 'another'),
  },
  {
    name: 'an answer with calls is asked for again',
    rule: 'answer_once',
    plant: (j) => void repeat([j, 'loop', 'assistant_message_added']),
  },

  {
    name: 'a request steers twice',
    rule: 'steer_once',
    plant: (j) => void repeat([j, 'taken over', 'task_steer_requested']),
  },
  {
    name: 'a text is given that nobody requested',
    rule: 'steer_once',
    plant: (j) => remove(j, 'taken over', 'task_steer_requested'),
  },
  {
    name: 'a text is given twice',
    rule: 'steer_once',
    plant: (j) => void repeat([j, 'taken over', 'user_message_added', -1]),
  },

  // Calls.
  {
    name: 'a call has two results',
    rule: 'result_once',
    plant: (j) => void repeat([j, 'loop', 'tool_result_recorded']),
  },
  {
    name: 'a result belongs to no call',
    rule: 'call_unasked',
    plant: (j) => (repeat([j, 'loop', 'tool_result_recorded']).data.call_id = 'call_9'),
  },
  {
    name: 'the conversation goes on without a result',
    rule: 'call_unsettled',
    plant: (j) => remove(j, 'loop', 'tool_result_recorded'),
  },
  {
    name: 'a run completes without a result',
    rule: 'call_unsettled',
    plant: (j) => (
      remove(j, 'loop', 'tool_result_recorded', -1),
      remove(j, 'loop', 'assistant_message_added', -1)
    ),
  },
  {
    name: 'a call that is not idempotent starts twice',
    rule: 'call_start_once',
    plant: (j) => {
      change(j, 'loop', 'tool_call_started').data.idempotent = false
      repeat([j, 'loop', 'tool_call_started'])
    },
  },
  {
    name: 'a call succeeds that never started',
    rule: 'call_unstarted',
    plant: (j) => remove(j, 'loop', 'tool_call_started'),
  },
  {
    name: 'a call starts that was denied',
    rule: 'denied_started',
    // Before the result of the call: on a busy machine the task waits without a daemon until then.
    plant: (j) => {
      const { records, index, record } = at(j, 'denied', 'tool_result_recorded')
      const data = { call_id: 'call_0', tool_name: 'echo', idempotent: true }
      records.splice(index, 0, { ...structuredClone(record), type: wire('tool_call_started'), data })
    },
  },
  {
    name: 'a call starts before it is granted',
    rule: 'denied_started',
    plant: (j) => remove(j, 'granted', 'approval_granted'),
  },
  {
    name: 'an approval is decided twice',
    rule: 'approval_once',
    plant: (j) => void repeat([j, 'granted', 'approval_granted']),
  },
  {
    name: 'a call is allowed with arguments that are no object',
    rule: 'edit_form',
    plant: (j) => (change(j, 'granted', 'approval_granted').data.arguments = '[1]'),
  },
  {
    name: 'a question is answered that nobody asked',
    rule: 'question_order',
    plant: (j) => {
      const { data } = change(j, 'granted', 'tool_call_started')
      repeat([j, 'granted', 'tool_call_started'], {
        type: wire('question_answered'),
        data: { call_id: data.call_id, question_index: 0, answer: { action: 'decline' }, by: 'somebody' },
      })
    },
  },
  {
    name: 'the client answers a call that is not with it',
    rule: 'client_call_once',
    plant: (j) => {
      const { data } = change(j, 'granted', 'tool_call_started')
      repeat([j, 'granted', 'tool_call_started'], {
        type: wire('client_call_answered'),
        data: { call_id: data.call_id, content: 'blue', by: 'somebody' },
      })
    },
  },
  {
    name: 'a call of the client succeeds without its answer',
    rule: 'client_call_once',
    plant: (j) => {
      const { data } = change(j, 'granted', 'tool_call_started')
      repeat([j, 'granted', 'tool_call_started'], {
        type: wire('client_call_requested'),
        data: { call_id: data.call_id, tool_name: data.tool_name },
      })
    },
  },
  {
    name: 'the client answers a call that has its result',
    rule: 'client_call_once',
    plant: (j) => {
      const { data } = change(j, 'granted', 'tool_call_started')
      repeat([j, 'granted', 'tool_call_started'], {
        type: wire('client_call_requested'),
        data: { call_id: data.call_id, tool_name: data.tool_name },
      })
      // A call that failed needs no answer.
      change(j, 'granted', 'tool_result_recorded').data.success = false
      repeat([j, 'granted', 'tool_result_recorded'], {
        type: wire('client_call_answered'),
        data: { call_id: data.call_id, content: 'blue', by: 'somebody' },
      })
    },
  },
  {
    name: 'an approval is decided that nobody requested',
    rule: 'approval_unasked',
    plant: (j) => remove(j, 'granted', 'approval_requested'),
  },

  // Teams.
  {
    name: 'a team starts twice',
    rule: 'team_once',
    plant: (j) => void repeat([j, 'team', 'task_team_run_started']),
  },
  {
    name: 'a team has events and no start',
    rule: 'team_unstarted',
    plant: (j) =>
      void repeat([j, 'team', 'tool_call_started'], {
        type: wire('team_diagnostic_recorded'),
        data: diagnostic('none', 'a'),
      }),
  },
  {
    name: 'a team ends twice',
    rule: 'team_end_once',
    plant: (j) => void repeat([j, 'team', 'task_team_run_completed']),
  },
  {
    name: 'a team goes on after its end',
    rule: 'team_after_end',
    plant: (j) => {
      const { team_run_id } = change(j, 'team', 'task_team_run_completed').data as { team_run_id: string }
      repeat([j, 'team', 'task_team_run_completed'], {
        type: wire('team_diagnostic_recorded'),
        data: diagnostic(team_run_id, 'a'),
      })
    },
  },
  {
    name: 'a team is complete and a node is not',
    rule: 'team_open',
    plant: (j) => remove(j, 'team', 'node_completed', -1),
  },
  {
    name: 'a node completes twice',
    rule: 'node_end_once',
    plant: (j) => void repeat([j, 'team', 'node_completed']),
  },
  {
    name: 'a node starts twice',
    rule: 'node_start_once',
    plant: (j) => void repeat([j, 'team', 'node_started']),
  },
  {
    name: 'a node starts before the one it depends on completed',
    rule: 'node_order',
    plant: (j) => swap(at(j, 'team', 'node_completed'), at(j, 'team', 'node_started', 1)),
  },
  {
    name: 'a node of a grown graph starts before the one it depends on',
    rule: 'node_order',
    plant: (j) => swap(at(j, team(j), 'node_completed', 1), at(j, team(j), 'node_started', 2)),
  },
  {
    name: 'a retry keeps a node and not the one it depends on',
    rule: 'node_order',
    plant: (j) =>
      swap(at(j, 'retried.retry-1', 'node_completed'), at(j, 'retried.retry-1', 'node_started', 1)),
  },
  {
    name: 'a node completes before its run',
    rule: 'node_run',
    plant: (j) => swap(at(j, 'team', 'run_completed'), at(j, 'team', 'node_completed')),
  },
  {
    name: 'an event names a node that the graph does not have',
    rule: 'node_unknown',
    plant: (j) => {
      const { team_run_id } = change(j, 'team', 'node_started').data as { team_run_id: string }
      repeat([j, 'team', 'node_started'], {
        type: wire('team_diagnostic_recorded'),
        data: diagnostic(team_run_id, 'z'),
      })
    },
  },
  {
    name: 'a node passes a check of a value that it does not have',
    rule: 'evidence_value',
    plant: (j) =>
      (checkOf(change(j, 'measured team', 'node_evidence_evaluated'), 'checks', 0).requirement['equals'] = 4),
  },
  {
    name: 'a node passes a check of a place that its output does not have',
    rule: 'evidence_value',
    plant: (j) =>
      (checkOf(change(j, 'measured team', 'node_evidence_evaluated'), 'checks', 1).requirement['path'] =
        '/says/length'),
  },
  {
    name: 'a node fails a check of the value that it has',
    rule: 'evidence_value',
    plant: (j) =>
      (checkOf(change(j, 'measured team', 'node_evidence_evaluated'), 'checks', 0).status = 'failed'),
  },
  {
    name: 'a task completes with a value that its final output does not have',
    rule: 'evidence_value',
    plant: (j) =>
      (change(j, 'measured', 'task_completed').data['final_output'] = '{"total": 3.5, "says": ["three"]}'),
  },
  {
    name: 'a graph grows by a node it has',
    rule: 'graph_growth',
    plant: (j) => void repeat([j, team(j), 'graph_extended']),
  },

  // Beside one another.
  {
    name: 'a task names another predecessor',
    rule: 'session_chain',
    plant: (j) => (change(j, 'three', 'task_submitted').data.previous_task_id = 'one'),
  },
  {
    name: 'a task begins before its predecessor ended',
    rule: 'session_order',
    plant: (j) => {
      const end = at(j, 'two', 'task_completed').message
      j.messages.splice(j.messages.indexOf(end), 1)
      j.messages.splice(j.messages.indexOf(at(j, 'three', 'run_started').message) + 1, 0, end)
    },
  },
  {
    name: 'one id is that of a task in two sessions',
    rule: 'task_id_unique',
    plant: (j) => {
      const copies = j.messages
        .filter(({ subject }) => /\.talk\.one\./.test(subject))
        .map((each) => structuredClone(each))
      for (const copy of copies) copy.subject = copy.subject.replace('.talk.', '.other.')
      for (const record of copies.flatMap(({ records }) => records ?? []))
        if (record.type === wire('task_submitted')) record.data.session_id = 'other'
      j.messages.push(...copies)
    },
  },
  {
    name: 'a task has no claim on its id',
    rule: 'id_claim',
    plant: (j) => void j.messages.splice(j.messages.findIndex(({ subject }) => subject.endsWith('.one.one.id.claimed')), 1), // prettier-ignore
  },
]

function diagnostic(team_run_id: string, node_id: string): Record<string, unknown> {
  return { team_run_id, node_id, code: 'note', message: 'note' }
}
