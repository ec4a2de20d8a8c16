// Every tea we know: water temperature in °C and steeping time in seconds.
export const teas = [
  { name: 'green', celsius: 75, seconds: 120 },
  { name: 'oolong', celsius: 90, seconds: 180 },
  { name: 'black', celsius: 96, seconds: 240 },
  { name: 'rooibos', celsius: 100, seconds: 360 },
];

export function findTea(name) {
  return teas.find((tea) => tea.name === name.trim().toLowerCase());
}
