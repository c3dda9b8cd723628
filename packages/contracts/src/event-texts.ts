// What each event says, in one sentence, and what its fields mean. The shapes are in the catalogue of
// @beaver/core.
import type { DataOf, EventType } from '@beaver/core'
import type { TextsOf } from './field-texts.ts'
import { ofAsker, ofReason, ofUser, teamEventTexts } from './team-event-texts.ts'
import { ofModelSettings } from './model-settings-texts.ts'
import { ofAnswer, ofFailedResult, ofQuestion, ofTaskResult } from './shape-texts.ts'

const ofDaemon = 'The id of the daemon.'
const ofTask = 'The id of the task.'
const ofHash =
  'The SHA-256 of the canonical call: its tool, its arguments, and what it would change. The decision is about the call with this hash.'
const ofCall = 'The id of the call.'
const ofTool = 'The name of the tool.'
const ofIterations = 'How many turns of the run called tools.'
const ofRunUsage = 'What all calls of models in the run used.'
const ofRunFailure = 'Why the run failed.'
const previousTask =
  'The task that was accepted before this one in its session, and that must end first. null: this is the first task.'
const copied = [
  'The event of which this event is a copy. The copy has a usage of 0, because the first task paid for the call. Absent: it is no copy.',
  {
    task_id: 'The task that has the first event.',
    taskseq: 'The place of the first event in the log of that task.',
  },
] as const

/** One sentence and the meaning of the fields, by event type. */
export const eventTexts: {
  readonly [Type in EventType]: { readonly says: string; readonly fields: TextsOf<DataOf<Type>> }
} = {
  // Events of a task.
  task_submitted: {
    says: 'A task was accepted. It is the first event of each log.',
    fields: {
      task_id: ofTask,
      session_id: 'The session to which the task belongs.',
      tenant: 'The tenant to which the task belongs.',
      previous_task_id: previousTask,
      request: 'What the client asked for.',
      by: ofAsker,
    },
  },
  task_claimed: { says: 'A daemon claimed the task.', fields: { daemon: ofDaemon } },
  task_released: {
    says: 'The daemon released the task, so that another daemon can claim it.',
    fields: { daemon: ofDaemon, reason: ofReason },
  },
  task_suspended: {
    says: 'The daemon suspended a task that only waits: for a person, a provider or its turn under a limit.',
    fields: {
      daemon: ofDaemon,
      waits_for: 'What the task waits for.',
      wait_ms: 'A daemon looks at the task again after this time at the latest, in milliseconds.',
      until: "The end of that time by the journal's clock. RFC 3339, UTC.",
      reason: ofReason,
    },
  },
  task_log_copied: {
    says: 'The task is a retry. The next events are copies from the log of the task that it retries.',
    fields: {
      task_id: 'The task that is retried.',
      taskseq: 'The place of the last event in the log of that task.',
      hash: 'The hash of the last record in the log of that task.',
      previous_task_id:
        'The task that came before that task in its session. The runs continue its history. null: that task was the first.',
      events: 'How many of the next events are copies.',
    },
  },
  task_cancel_requested: {
    says: 'Somebody asked to cancel the task.',
    fields: { reason: ofReason, by: ofAsker, user_id: ofUser },
  },
  task_steer_requested: {
    says: 'Somebody steers the task: the root agent receives the text before its next request to the model.',
    fields: {
      request_id: 'The id of the request. A repeated request has the same one.',
      text: 'The text for the agent.',
      by: ofAsker,
      user_id: ofUser,
    },
  },
  task_dead_lettered: {
    says: 'Beaver gave up on the task, because it lost too many owners, or because its log can no longer be read or written.',
    fields: {
      claims: 'How many owners the task lost. If its log was the reason: the number of the latest claim.',
    },
  },
  task_completed: { says: 'The task completed. It is the last event of its log.', fields: ofTaskResult },
  task_incomplete: {
    says: 'The task ended without all of its work. It is the last event of its log.',
    fields: ofTaskResult,
  },
  task_failed: { says: 'The task failed. It is the last event of its log.', fields: ofFailedResult },
  task_cancelled: { says: 'The task was cancelled. It is the last event of its log.', fields: ofTaskResult },

  // Events of a run of one AgentLoop.
  run_started: {
    says: 'A run of an agent or of a tool node began.',
    fields: {
      run_id: 'The id of the run.',
      parent_run_id: 'The run that called the team. null: the run has no parent.',
      attempt_index: 'The number of the attempt at the task: 1, and one more for each retry.',
      agent_name: 'The name of the agent.',
      team_run_id: 'The team run to which the run belongs. null: it belongs to no team.',
      node_id: 'The node to which the run belongs. null: it belongs to no team.',
      source: 'Who asked for the run: the source of the request, or "team:" with the id of the team run.',
      max_tool_iterations: 'How many turns of the run may call tools.',
      tools: 'The names of the tools that the run has.',
      model: 'The name of the model of the run in the configuration. Absent: the main model.',
      model_settings: [
        'How the run asks its model, beyond what the endpoint sets. Absent: as the endpoint sets.',
        ofModelSettings,
      ],
      output_schema: "The JSON Schema of the run's final answer. Absent: any text.",
      taint: "The labels of what the run is given. Absent: it is given a person's words alone.",
    },
  },
  tool_scope_applied: {
    says: 'Beaver limited the tools of a run to those that are allowed.',
    fields: {
      allowed: 'The tools that the node allows.',
      effective: 'The tools that the run has.',
      dropped: 'The tools that the run would have without the limit.',
    },
  },
  tools_left_out: {
    says: 'A provider refused the schemas of tools. The requests of the run to this provider do not have them from now on.',
    fields: {
      provider_name: 'The name of the provider.',
      tools: ['The tools.', { name: ofTool, reason: 'What the provider said about its schema.' }],
    },
  },
  skill_selection_recorded: {
    says: 'Beaver searched for a skill: what the search found, and what the model chose.',
    fields: {
      query: 'What Beaver searched for.',
      recall: 'How Beaver searched: by embeddings or by words.',
      candidates: [
        'The skills that the search found, best first.',
        { name: 'The name of the skill.', score: 'How well it fits. A higher number is better.' },
      ],
      chosen: 'The names of the skills that the model chose.',
      usage: 'What the choice used.',
      provider_name: 'The provider that answered. null: none answered.',
      model: 'The model that answered. null: none answered.',
      failure: 'Why the model could not be asked. null: it answered, or nothing had to be asked.',
      failed_calls: [
        'Calls before that which were paid and gave no choice. Absent: there were none.',
        {
          usage: 'What the call used.',
          provider_name: 'The provider that answered.',
          model: 'The model that answered.',
        },
      ],
      copied_from: copied,
    },
  },
  skill_activation_snapshotted: {
    says: 'Skills became active.',
    fields: {
      skills: [
        'The skills.',
        {
          name: 'The name of the skill.',
          sha256: 'The SHA-256 of its text, in hexadecimal digits.',
          content: 'Its text.',
          from_workspace:
            'Whether it was found in the workspace of the task, and nobody configured it. Absent: no.',
        },
      ],
    },
  },
  system_prompt_snapshotted: {
    says: 'The run received its system prompt.',
    fields: {
      content: 'The system prompt.',
      context: [
        'The size of each part of the first prompt. Absent: it was not estimated.',
        { part: 'The part of the prompt.', tokens_estimated: 'Its size in tokens, as Beaver estimates it.' },
      ],
    },
  },
  user_message_added: {
    says: 'The run received its message, or a text with which somebody steers the task.',
    fields: {
      content: 'The message.',
      steer_request_id:
        'The request_id of the task_steer_requested whose text it is. Absent: the message with which the run began.',
      images: 'What the message shows. Absent: no image.',
    },
  },
  execution_mode_selected: {
    says: 'The root agent chose a team, or to work alone, in its first answer.',
    fields: {
      task_id: ofTask,
      attempt_index: 'The number of the attempt at the task: 1, and one more for each retry.',
      execution_mode: 'team: the agent called a workflow tool. single: it works alone.',
      routing_source: 'What made the choice: the first answer of the root agent.',
      primary_template_skill: 'The skill whose guidance the agent had.',
      ignored_template_skills: 'Other active skills with guidance, which the agent did not have.',
      workflow_tool: 'The workflow tool that the agent called. null: it called none.',
      content: 'Always null.',
    },
  },
  provider_call_failed: {
    says: 'A call of a model failed.',
    fields: {
      failure: 'What failed.',
      tries: 'The number of this try since the last answer, from 1.',
      retry_in_ms:
        'The pause before the next try, in milliseconds. 0: the next model of the route is asked at once. null: there is no further try.',
      status: 'The HTTP status of the answer. null: there was no answer.',
      provider_name: 'The provider that was asked.',
      duration_ms: 'How long the try took, in milliseconds.',
      usage:
        'The tokens of an answer that could not be used, such as one that was broken off. Absent: nothing.',
      model: 'The model that gave this answer.',
    },
  },
  context_compacted: {
    says: 'The conversation was too long for the model, so references replace older tool results, or outputs of other nodes are cut, from here on.',
    fields: {
      results: [
        'The tool results that the model no longer receives.',
        {
          call_id: ofCall,
          tool_name: ofTool,
          chars: 'The number of characters (UTF-16 units) of the result.',
          kept_chars: 'How many of these characters the model still receives. Absent: none.',
          team: 'Whether a team wrote the result. If so, the model reads it again with team_output. Absent: no team wrote it.',
        },
      ],
      arguments: [
        'The calls whose arguments the model no longer receives. Absent: none.',
        {
          call_id: ofCall,
          tool_name: ofTool,
          chars: 'The number of characters (UTF-16 units) of the arguments.',
        },
      ],
      history_messages_dropped:
        "How many of the oldest messages of the session's history the model no longer receives. Absent: as many as before.",
      messages_dropped:
        "No summary could be had, so a note takes the place of so many messages that follow the run's own first message. Absent: none are left out.",
      images: [
        'The images that the model is no longer shown. Absent: none.',
        {
          call_id: 'The call whose result had the image. null: the message with which the run began.',
          sha256: 'The SHA-256 of the content.',
        },
      ],
      outputs: [
        "The outputs of other nodes in the run's own message that were cut. Absent: none.",
        {
          index: 'The place of the output among those in the message, from 0.',
          node_id: 'The node. Absent: the output is part of an instruction, which does not name it.',
          chars: 'The number of characters (UTF-16 units) of the output.',
          kept_chars: 'How many of these characters the model still receives.',
        },
      ],
    },
  },
  context_summarized: {
    says: 'The conversation was still too long, so a summary replaces older turns from here on.',
    fields: {
      content: 'The summary.',
      messages_dropped: "How many messages it replaces. They are the first ones after the run's own message.",
      usage: 'What the summary used.',
      provider_name: 'The provider that wrote the summary.',
      model: 'The model that wrote the summary.',
      copied_from: copied,
    },
  },
  summary_refused: {
    says: 'A model was asked for a summary of older turns, and its answer is none. The conversation stays as it was. After two of them, Beaver leaves the older turns out without a summary.',
    fields: {
      reason: 'Why the answer is no summary.',
      usage: 'What the answer used.',
      provider_name: 'The provider that gave the answer.',
      model: 'The model that gave the answer.',
      copied_from: copied,
    },
  },
  output_rejected: {
    says: 'The last answer does not fit the JSON Schema of the run. The model is asked once to write it again.',
    fields: {
      faults: [
        'What does not fit.',
        {
          path: 'The place in the answer, a JSON Pointer. Empty: the whole answer.',
          message: 'What is wrong there.',
        },
      ],
    },
  },
  assistant_message_added: {
    says: 'A model answered.',
    fields: {
      content: 'The text of the answer. null: the model sent only tool calls.',
      tool_calls: 'The tool calls of the answer.',
      finish_reason: 'Why the model stopped, as the provider says it.',
      usage: 'What the call used.',
      provider_name: 'The provider that answered.',
      model: 'The model that answered.',
      response_id: "The provider's id of the answer. null: it sent none.",
      duration_ms: 'How long the call took, in milliseconds.',
      provider_state: [
        'What goes back to the provider with the answer. Other providers do not get it. Absent: nothing.',
        { provider: 'The provider.', fields: 'The fields of the message, as they came.' },
      ],
      copied_from: copied,
      delivered_from:
        'The team whose final output this answer is, word for word. No model wrote it. Absent: a model answered.',
    },
  },
  tool_call_requested: {
    says: 'The graph asks for a tool call, without a model.',
    fields: { call: 'The call.' },
  },
  approval_requested: {
    says: 'A tool call waits for a person.',
    fields: {
      call_id: ofCall,
      tool_name: ofTool,
      subject: 'What the call would act on, in the form that the patterns of permissions match.',
      rule: 'The permission rule that asks. null: the tool itself asks, or what the run has read.',
      reason: 'Why the call asks because of what the run has read. Absent: it asks for another reason.',
      call_hash: ofHash,
      preview: [
        'What the call would change. Absent: the tool cannot say it.',
        {
          effect: 'What the call would do: create, overwrite, append, unchanged, or why it would be refused.',
          path: 'The path of the file after all links, relative to the workspace.',
          bytes: 'The size of the content that the call writes.',
          sha256: 'The SHA-256 of this content.',
          before: [
            'The file that is there. null: there is none.',
            { bytes: 'Its size.', sha256: 'Its SHA-256.' },
          ],
          diff: 'A unified diff against the file that is there, of bounded length.',
          diff_lines_left_out: 'How many lines of the diff are left out.',
        },
      ],
    },
  },
  approval_granted: {
    says: 'A person allowed a tool call.',
    fields: {
      call_id: ofCall,
      by: 'Who decided.',
      call_hash: ofHash,
      arguments:
        'The arguments as the person changed them, the text of a JSON object. The call is made with them. Absent: they were not changed.',
      user_id: ofUser,
    },
  },
  approval_denied: {
    says: 'A person or a rule refused a tool call.',
    fields: {
      call_id: ofCall,
      by: 'Who decided.',
      call_hash: ofHash,
      reason: 'Why. The model receives this text.',
      user_id: ofUser,
    },
  },
  question_asked: {
    says: 'A running tool call asks a person.',
    fields: {
      call_id: ofCall,
      tool_name: ofTool,
      question_index: 'The number of the question in the call, from 0.',
      question: ['The question.', ofQuestion],
    },
  },
  question_answered: {
    says: 'A question has an answer, or nobody can answer it.',
    fields: {
      call_id: ofCall,
      question_index: 'The number of the question in the call.',
      answer: ['The answer.', ofAnswer],
      by: 'Who answered. beaver: nobody could answer, or nobody did in time.',
      reason: 'Why there is no answer. Absent: no reason was given.',
      user_id: ofUser,
    },
  },
  tool_call_started: {
    says: 'A tool call began.',
    fields: {
      call_id: ofCall,
      tool_name: ofTool,
      idempotent: 'Whether Beaver may repeat the call after a crash.',
    },
  },
  tool_result_recorded: {
    says: 'A tool call ended.',
    fields: {
      call_id: ofCall,
      tool_name: ofTool,
      success: 'Whether the call succeeded.',
      content: 'The result that the model receives.',
      error:
        'The code of the error, such as tool_crash, invalid_arguments or in_doubt. null: the call succeeded.',
      duration_ms: 'How long the call took, in milliseconds.',
      taint: "The labels of the result. Absent: the result is the user's own text.",
      images: 'What the call shows to the model. Absent: no image.',
    },
  },
  workspace_files_checked: {
    says: 'Beaver looked in the workspace for the files that the evidence of a node names.',
    fields: {
      files: [
        'What Beaver found after the last answer of the run.',
        {
          path: 'The path as the evidence names it.',
          found: 'What is there. refused: the path leads out of the workspace.',
          bytes: 'The size of the file in bytes. null: not known.',
        },
      ],
    },
  },
  run_completed: {
    says: 'A run completed.',
    fields: {
      finish_reason: 'Why the model stopped, as the provider says it.',
      tool_iterations: ofIterations,
      usage: ofRunUsage,
    },
  },
  run_failed: {
    says: 'A run failed.',
    fields: { failure: ofRunFailure, tool_iterations: ofIterations, usage: ofRunUsage },
  },
  run_cancelled: {
    says: 'A run was cancelled.',
    fields: { reason: ofReason, tool_iterations: ofIterations, usage: ofRunUsage },
  },
  run_restarted: {
    says: 'A run starts again, because its worker thread was lost.',
    fields: {
      failure: 'What happened to the thread.',
      restarts: 'The number of this restart, from 1.',
      suspect_tools: 'The tools with calls at work in the lost thread. Absent: there were none.',
    },
  },

  ...teamEventTexts,
}
