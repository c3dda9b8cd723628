// Finds the language of a write-up: the language that the instruction asks for, otherwise that of the
// instruction or the task.
import type { WorkOrder } from './habit.ts'

const english = {
  note: (model: string) =>
    `Written by Beaver's simulated model (${model}): fixed rules, no language model was asked. Figures and quotations are copied from the sources named.`,
  source: 'Source: ',
  sources: 'Sources',
  comparison: 'Comparison',
  metric: 'Figure',
  check: 'Validation',
  same: (label: string, value: string) => `${label}: the same in all sources (${value}).`,
  differs: (label: string, values: string) => `${label}: differs. ${values}`,
  alone: (subject: string, label: string) => `Only in the source of ${subject}, so not compared: ${label}.`,
  agrees: 'Read again in the sources: every figure received stands there.',
  disagrees: (cell: string) => `Received, and different in the source: ${cell}.`,
  chart: 'Chart data',
  quoted: (source: string) => `(${source}, quoted by Beaver's simulated model)`,
}
type Words = typeof english

const chinese: Words = {
  note: (model) =>
    `本文由 Beaver 的模拟模型（${model}）按固定规则写成，没有询问语言模型；数字和引文照抄自所列来源。`,
  source: '来源：',
  sources: '来源',
  comparison: '对比',
  metric: '指标',
  check: '校验',
  same: (label, value) => `${label}：各来源一致（${value}）。`,
  differs: (label, values) => `${label}：不一致。${values}`,
  alone: (subject, label) => `只有 ${subject} 的来源给出，未作对比：${label}。`,
  agrees: '已重新读取来源：收到的每个数字都在其中。',
  disagrees: (cell) => `收到的数字与来源不同：${cell}。`,
  chart: '图表数据',
  quoted: (source) => `（${source}，由 Beaver 的模拟模型摘录）`,
}

export function wordsFor({ instruction, task }: Pick<WorkOrder, 'instruction' | 'task'>): Words {
  if (/中文|汉语|Chinese/i.test(instruction)) return chinese
  if (/English|英文|英语/i.test(instruction)) return english
  return /\p{Script=Han}/u.test(`${instruction}${task}`) ? chinese : english
}
