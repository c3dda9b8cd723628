// The rules of a journal, each with a name and one sentence, and the form of a finding.
// docs/reference/journal-rules.md mirrors this table.

/** Every rule, with its demand on a journal. */
export const rules = {
  stream_gap: 'The messages of the stream are numbered without a gap, except those that an archive has',
  subject:
    'Every message lies under a subject of the journal, and nothing but the first entry of a log lies where acceptances lie',
  entry: 'Every entry is a CloudEvents batch of records, and every id claim names a session',
  canonical: 'Every entry is canonical JSON (RFC 8785)',
  taskseq: 'The records of a log are numbered 1, 2, 3 without a gap, except those that an archive has',
  chain: 'Every record names the hash of the record before it',
  hash: 'Every hash is the SHA-256 of the record without its hash',
  key_event: 'Every event of the log keys counts: an operator signed it, or the key that announces itself',
  operator: 'The first operator of the journal is the one that the reader knows',
  signature:
    'Every entry is signed, for its place, by a key that the operator trusts for its log, from the announcement of the operator on',
  epoch: 'The epoch never falls, and rises only with a claim',
  claim: 'Each claim has a higher epoch than every earlier one, and names the daemon that wrote it',
  source:
    'The records of one epoch come from one daemon; after a command of another daemon its owner writes no more',
  unowned: 'While nobody owns a task, only commands are written into its log',
  identity: 'The first event and the ids of all records agree with where the log lies',
  first_event: 'A log begins with task_submitted, which occurs once',
  event_type: 'Every event is of a known type',
  event_data: 'Every event has the data that its type needs',
  blob_missing: 'Every blob that a record refers to exists',
  blob_changed: 'Every blob has the SHA-256 it is stored under',
  terminal_once: 'A task has at most one terminal event',
  after_end: 'Nothing follows the terminal event of a task',
  open_at_end: 'When a task ends, its runs and its teams have ended',
  run_once: 'A run starts once, and where its team or its task started it',
  run_unstarted: 'A run has no event before its start',
  run_end_once: 'A run ends once',
  run_after_end: 'A run has no event after its end',
  answer_once: 'The model answers each state of a conversation once',
  steer_once:
    'A task is steered once by each request, and a run is given the text of a request once, and only after the request',
  call_unasked: 'Starts, results and approvals belong to a call that was asked for',
  call_start_once: 'A call starts once, unless its tool is idempotent',
  call_unstarted: 'A call that succeeded has started',
  call_unsettled: 'A call has its result before the conversation goes on or the run completes',
  result_once: 'A call has at most one result',
  approval_once: 'An approval is requested once and decided once for each call',
  approval_unasked: 'An approval is decided only after it was requested',
  denied_started: 'A call that needs an approval starts only after it was granted',
  edit_form: 'A person who allows a call changes its arguments only to a JSON object',
  question_order:
    'A call that has begun asks its questions one after the other, numbered from 0, and each is answered once',
  client_call_once:
    'A call that has begun goes to the client once, is answered once and before its result, and succeeds only with the answer',
  team_once: 'A team starts once, and each call starts at most one team',
  team_unstarted: 'A team has no event before its start',
  team_end_once: 'A team ends once',
  team_after_end: 'A team has no event after its end',
  team_open: 'When a team ends, its nodes have ended, and all completed or were skipped if it is complete',
  node_unknown: 'Events of nodes name a node of the graph',
  node_start_once: 'A node starts once',
  node_end_once: 'A node ends once: completed, failed, blocked, skipped, cancelled or computed',
  node_order: 'A node begins after the nodes it depends on, as the graph says',
  node_run: 'A node completes with its own run, which has completed',
  evidence_value: 'A check of a value at a place of an output has the verdict that the recorded output gives',
  graph_growth: 'A graph grows by new nodes and by edges to nodes that have not begun',
  session_chain: 'Each task names the task accepted before it in its session',
  session_order: 'A task begins after the task before it in its session has ended',
  task_id_unique: 'The id of a task is unique in its tenant',
  id_claim: 'A task whose session has another name holds one claim on its id, which names that session',
  checkpoint:
    'Every signed checkpoint is of this journal and has the root of the tree over the messages that it counts',
  checkpoint_signature:
    'Every checkpoint is signed by the key of a projector that the operator trusts, and by a key that the reader knows',
  inclusion: 'Every message of a part of a journal is proved to be in the tree of its checkpoint',
  head: 'Every log in a part of a journal ends with the record that the projector signed as its end',
  archive:
    'A log continues behind its archived messages, and an archived message that is still there has the hash that its event says',
  export: 'An export holds what its header announces',
  projection: 'The read model equals one that is rebuilt from the journal',
} as const satisfies Record<string, string>

export type Rule = keyof typeof rules

/** A broken rule. Fields that do not apply are `null`. */
export interface Finding {
  readonly rule: Rule
  readonly task_id: string | null
  readonly session_id: string | null
  readonly taskseq: number | null
  /** The sequence of the message in the stream. */
  readonly sequence: number | null
  readonly message: string
}

/** Reports a finding about the current event. */
export type Report = (rule: Rule, message: string) => void
