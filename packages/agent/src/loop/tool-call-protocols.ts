// The marks with which models write a tool call into their text, as their chat templates and the parsers of
// servers define them (read 2026-11). An opening mark alone is not a call: the text after it must continue as
// that protocol does. Prose about a mark does not. Each pattern is linear in the text. Each opening mark
// contains `<`, `[` or `:`, or stands before one of them.

export interface Protocol {
  /** For a message. `$&` is the opening mark. */
  readonly shown: string
  /** The opening mark. The group `name` is the tool. */
  readonly opening: RegExp
  /** How the text after the opening mark continues, if it is a call. The group `name` is the tool. */
  readonly continues: RegExp
  /** Whether the mark occurs in other texts, too, so that only the name of a known tool makes it a call. */
  readonly knownOnly?: true
  /** Whether a mark closes the call. If none does, the call ends with its arguments. */
  readonly closed: boolean
}

const name = String.raw`(?<name>[\p{L}_][\p{L}\p{N}_.:/-]{0,199})`
const pipe = '[|｜]'
/** DeepSeek writes U+2581 where others write `_`. */
const gap = String.raw`(?:▁|_|\\_| )`

/** A call in JSON or in elements, or a name with its arguments. */
const anyCall = new RegExp(String.raw`^(?:\s*[{[<]|(?:\s*\n)?${name}[ \t]*(?:\n|[({<]))`, 'u')

export const protocols: readonly Protocol[] = [
  // Hermes, Qwen, GLM, Granite, MiniMax, Seed, LongCat, Nemotron, Anthropic's older models, DeepSeek 3.2.
  {
    shown: 'a $& element',
    opening: new RegExp(
      String.raw`<(?:${pipe}DSML${pipe}|[a-z]{1,20}:)?(?:tool_calls?|function_calls?|longcat_tool_call|toolcall)>`,
      'giu',
    ),
    continues: anyCall,
    closed: true,
  },
  // Qwen Coder and Seed: <function=name>. Llama 3.1: the same with JSON. MiniCPM: <function name="name">.
  {
    shown: 'a <function> element',
    opening: new RegExp(
      String.raw`<function(?:=["']?${name}["']?|[ \t]+name=["'](?<attribute>[^"'>\n]{1,200})["'])[ \t]*>`,
      'gu',
    ),
    continues: /^\s*(?:<\/?(?:parameter|param|function)\b|[{[]|$)/u,
    closed: true,
  },
  // Claude and MiniMax M2: <invoke name="name">. DeepSeek 3.2: the same with its own mark.
  {
    shown: 'an <invoke> element',
    opening: new RegExp(
      String.raw`<(?:${pipe}DSML${pipe}|[a-z]{1,20}:)?invoke[ \t]+name=["'](?<attribute>[^"'>\n]{1,200})["'][ \t]*>`,
      'giu',
    ),
    continues: new RegExp(
      String.raw`^\s*(?:</?(?:${pipe}DSML${pipe}|[a-z]{1,20}:)?(?:parameter|invoke)\b|[{[]|$)`,
      'iu',
    ),
    closed: true,
  },
  // Mistral: a list, name{…}, name[ARGS]{…}, name[CALL_ID]id[ARGS]{…}.
  {
    shown: 'the $& protocol',
    opening: /\[TOOL_CALLS\]/gu,
    continues: new RegExp(String.raw`^\s*(?:[{[]|${name}[ \t]*(?:\{|\[(?:ARGS|CALL_ID)\]|$))`, 'u'),
    closed: false,
  },
  {
    shown: 'the [ARGS] protocol',
    opening: new RegExp(
      String.raw`(?<![\p{L}\p{N}_.:/-])${name}(?:\[CALL_ID\][\p{L}\p{N}_-]{1,40})?\[ARGS\]`,
      'gu',
    ),
    continues: /^\s*(?:\{|$)/u,
    knownOnly: true,
    closed: false,
  },
  // Llama: JSON, name.call(…), or a program for the interpreter.
  {
    shown: 'the $& protocol',
    opening: /<\|python_tag\|>/gu,
    continues: new RegExp(
      String.raw`^\s*(?:[{[]|$|(?:import|from|def|print)\b|${name}[ \t]*(?:\(|=[^=]))`,
      'u',
    ),
    closed: false,
  },
  // DeepSeek, Kimi, Step, LFM, Granite, Phi, Gemma, Apertus: marks whose name begins with "tool".
  {
    shown: 'the $& protocol',
    opening: new RegExp(
      String.raw`<${pipe}(?:tool${gap}calls?(?:${gap}(?:section${gap})?(?:begin|start))?|tools_prefix)${pipe}?>`,
      'gu',
    ),
    continues: new RegExp(
      String.raw`^\s*(?:<${pipe}?(?:tool|steptml:)|[{[]|$|call[ \t]*:|${name}\s*(?:<${pipe}|[({\n]))`,
      'u',
    ),
    closed: false,
  },
  // Kimi K3.
  {
    shown: 'the <|open|> protocol',
    opening: /<\|open\|>(?:tools)?(?:<\|sep\|>)?(?:<\|open\|>)?call[ \t]+tool=/gu,
    continues: /^["']/u,
    closed: true,
  },
  // gpt-oss (Harmony).
  {
    shown: 'a call in a <|channel|>',
    opening: new RegExp(
      String.raw`<\|channel\|>[ \t]*(?:commentary|analysis)[ \t]+to=${name}|[ \t]to=functions\.[\p{L}\p{N}_-]{1,200}[ \t]*<\|channel\|>`,
      'gu',
    ),
    continues: /^[^\n]{0,100}(?:<\|message\|>|$)/u,
    closed: false,
  },
  // Command, InternLM, FunctionGemma, Phi.
  { shown: 'the $& protocol', opening: /<\|START_ACTION\|>/gu, continues: /^\s*(?:[{[]|$)/u, closed: true },
  {
    shown: 'the $& protocol',
    opening: /<\|action_start\|>\s*<\|(?:plugin|interpreter)\|>/gu,
    continues: /^\s*[^\s.,;:]/u,
    closed: true,
  },
  {
    shown: 'the $& protocol',
    opening: /<start_function_call>/gu,
    continues: /^\s*call[ \t]*:/u,
    closed: true,
  },
  {
    shown: 'the functools protocol',
    opening: /^[ \t]*functools(?=\s*\[)/gmu,
    continues: /^\s*\[\s*\{/u,
    closed: false,
  },
  // The protocol of the first system that Beaver follows: lines, JSON, or fields on one line.
  {
    shown: 'the $& protocol',
    opening: /<\|\[REQUEST_TOOL\]\|>/gu,
    continues: new RegExp(
      String.raw`^[ \t]*(?:[{[<\n]|$|${name}[ \t]*(?:[:=({\n]|$)|[^\n:={(]{0,200}[:={(][^\n]{0,2000}<\|\[[^\]\n]{1,40}\]\|>[ \t]*(?:\n|$))`,
      'u',
    ),
    closed: true,
  },
  // Prompts that teach a model to call tools by text: ReAct, an element with the tool's name, Gemma's
  // call:name{…}.
  {
    shown: 'an Action with an Action Input',
    opening: new RegExp(String.raw`^[ \t]*Action:[ \t]*${name}[ \t]*\n+[ \t]*Action Input:`, 'gmu'),
    continues: /^/u,
    knownOnly: true,
    closed: false,
  },
  {
    shown: 'a $& element',
    opening: new RegExp(String.raw`<${name}>`, 'gu'),
    continues: /^\s*<\/?[a-z_]/iu,
    knownOnly: true,
    closed: true,
  },
  {
    shown: 'a call:name{…}',
    opening: new RegExp(String.raw`(?<![\p{L}\p{N}_])call[ \t]*:[ \t]*${name}(?=\{)`, 'gu'),
    continues: /^\{/u,
    knownOnly: true,
    closed: false,
  },
]

/** The marks that close a call, of all protocols, and the marks with which a model ends its turn. */
export const closingMark = new RegExp(
  [
    String.raw`</(?:${pipe}DSML${pipe}|[a-z]{1,20}:)?(?:tool_calls?|function_calls?|longcat_tool_call|toolcall|function|invoke)>`,
    String.raw`<${pipe}tool${gap}calls?${gap}(?:section${gap})?end${pipe}>|<tool_call\|>`,
    String.raw`<\|(?:/tool_calls?|tools_suffix|call|END_ACTION|action_end|sep|eom_id|eot_id|end|im_end)\|>`,
    '<end_function_call>',
    '</s>',
    String.raw`<\|\[[^\]\n]{1,40}\]\|>`,
  ].join('|'),
  'giu',
)
