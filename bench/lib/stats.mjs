export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export const least = (values) => Math.min(...values);
export const most = (values) => Math.max(...values);

/** Median and minimum: the machine is never quiet, so one number says too little. */
export function summary(values) {
  return { median: median(values), min: least(values), max: most(values), n: values.length };
}

export const round = (value, digits = 2) => Number(value.toFixed(digits));
